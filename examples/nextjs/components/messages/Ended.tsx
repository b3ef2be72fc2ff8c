import { CircleStop } from "lucide-react";
import type { Outcome } from "../chat/message-types";
import { Problem } from "../chat/Problem";

type EndedProps = { outcome: Outcome; onRetry: (() => unknown) | undefined };

/** Note below an incomplete reply: stopped, interrupted or failed. */
export function Ended({ outcome, onRetry }: EndedProps) {
  if (outcome.type === "stopped") {
    return (
      <p className="flex items-center gap-1.5 self-start text-sm text-muted-foreground" data-outcome="stopped">
        <CircleStop className="size-4" aria-hidden /> Stopped
      </p>
    );
  }
  return (
    <div className="flex self-stretch *:grow" data-outcome="failed">
      <Problem quiet text={outcome.errorText ?? "The answer failed."} onRetry={onRetry} />
    </div>
  );
}
