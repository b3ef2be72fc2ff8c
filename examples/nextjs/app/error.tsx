"use client";

import { Problem } from "@/components/chat/Problem";

/** Page for an error of another page. */
export default function Failed({ reset }: { error: Error; reset: () => void }) {
  return (
    <main className="mx-auto max-w-3xl p-6">
      <Problem text="The page could not be loaded." onRetry={reset} />
    </main>
  );
}
