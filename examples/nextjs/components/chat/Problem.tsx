import { CircleAlert, RotateCw } from "lucide-react";
import { Button } from "../ui/button";

type ProblemProps = { text: string; onRetry: (() => void) | undefined; onDismiss?: () => void };

/** What went wrong, where the answer would have stood, and the way on. */
export function Problem({ text, onRetry, onDismiss }: ProblemProps) {
  return (
    <div
      role="alert"
      data-problem
      className="flex flex-col gap-3 rounded-xl border border-destructive/40 bg-destructive/6 p-4 text-sm"
    >
      <div className="flex gap-2.5">
        <CircleAlert className="mt-0.5 size-4 shrink-0 text-destructive" aria-hidden />
        <p dir="auto" className="min-w-0 flex-1 whitespace-pre-wrap wrap-anywhere">
          {text || "Something went wrong."}
        </p>
      </div>
      <div className="flex gap-2 ps-6.5">
        {onRetry && (
          <Button size="small" onClick={onRetry}>
            <RotateCw className="size-3.5" aria-hidden /> Retry
          </Button>
        )}
        {onDismiss && (
          <Button size="small" look="ghost" onClick={onDismiss}>
            Dismiss
          </Button>
        )}
      </div>
    </div>
  );
}
