import { CircleAlert, CircleStop, RotateCw } from "lucide-react";
import type { Outcome } from "../chat/message-types";
import { Button } from "../ui/button";

type EndedProps = { outcome: Outcome; onRetry: (() => unknown) | undefined };

/** How an answer has ended that is not whole, below what there is of it. */
export function Ended({ outcome, onRetry }: EndedProps) {
  if (outcome.type === "stopped") {
    return (
      <p className="flex items-center gap-1.5 self-start text-sm text-muted-foreground" data-outcome="stopped">
        <CircleStop className="size-4" aria-hidden /> Stopped
      </p>
    );
  }
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-2 self-start text-sm" data-outcome="failed">
      <p className="flex min-w-0 items-start gap-1.5 text-destructive">
        <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
        <span className="min-w-0">
          Failed
          {outcome.errorText && (
            <bdi className="block whitespace-pre-wrap text-muted-foreground wrap-anywhere">{outcome.errorText}</bdi>
          )}
        </span>
      </p>
      {onRetry && (
        <Button size="small" onClick={() => void onRetry()}>
          <RotateCw className="size-3.5" aria-hidden /> Retry
        </Button>
      )}
    </div>
  );
}
