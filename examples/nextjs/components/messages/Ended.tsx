import { CircleStop, RotateCw } from "lucide-react";
import type { Outcome } from "../chat/message-types";
import { Problem } from "../chat/Problem";
import { Button } from "../ui/button";

type EndedProps = { outcome: Outcome; onRetry: (() => unknown) | undefined };

/** Note below an incomplete reply, stopped or failed, with a button that asks again. */
export function Ended({ outcome, onRetry }: EndedProps) {
  if (outcome.type === "stopped") {
    return (
      <div className="flex items-center gap-3 self-start text-sm text-muted-foreground">
        <p className="flex items-center gap-1.5" data-outcome="stopped">
          <CircleStop className="size-4" aria-hidden /> Stopped
        </p>
        {onRetry && (
          <Button size="small" onClick={() => void onRetry()}>
            <RotateCw className="size-3.5" aria-hidden /> Retry
          </Button>
        )}
      </div>
    );
  }
  return (
    <div className="flex self-stretch *:grow" data-outcome="failed">
      <Problem quiet text={outcome.errorText ?? "The answer failed."} onRetry={onRetry} />
    </div>
  );
}
