import { CircleAlert, CircleStop, RotateCw } from "lucide-react";
import type { Outcome } from "../chat/message-types";
import { Button } from "../ui/button";

type EndedProps = { outcome: Outcome; onRetry: (() => unknown) | undefined };

/** How an answer has ended that is not whole, below what there is of it. */
export function Ended({ outcome, onRetry }: EndedProps) {
  if (outcome === "stopped") {
    return (
      <p className="flex items-center gap-1.5 self-start text-sm text-muted-foreground" data-outcome="stopped">
        <CircleStop className="size-4" aria-hidden /> Stopped
      </p>
    );
  }
  return (
    <div className="flex items-center gap-3 self-start text-sm" data-outcome="failed">
      <p className="flex items-center gap-1.5 text-destructive">
        <CircleAlert className="size-4" aria-hidden /> Failed
      </p>
      {onRetry && (
        <Button size="small" onClick={() => void onRetry()}>
          <RotateCw className="size-3.5" aria-hidden /> Retry
        </Button>
      )}
    </div>
  );
}
