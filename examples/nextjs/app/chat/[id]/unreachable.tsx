"use client";

import { useRouter } from "next/navigation";
import { useTransition } from "react";
import { Problem } from "@/components/chat/Problem";

/** Page for a server that cannot be reached. `advice` is for the developer. */
export function Unreachable({ advice }: { advice: string | undefined }) {
  const router = useRouter();
  const [loading, load] = useTransition();
  const text = "The chat could not be loaded: the agent can't be reached.";
  return (
    <main className="m-auto w-full max-w-3xl p-6" aria-busy={loading}>
      <Problem text={advice === undefined ? text : `${text}\n\n${advice}`} onRetry={() => load(() => router.refresh())} />
    </main>
  );
}
