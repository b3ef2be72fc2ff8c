import { CircleAlert, RotateCw } from "lucide-react";
import { Button } from "../ui/button";

type ProblemProps = {
  text: string;
  onRetry?: (() => unknown) | undefined;
  onDismiss?: () => void;
  /** Screen readers hear of it elsewhere. */
  quiet?: boolean;
};

/** What went wrong, where the answer would have stood, and the way on. */
export function Problem({ text, onRetry, onDismiss, quiet = false }: ProblemProps) {
  const hasButtons = onRetry !== undefined || onDismiss !== undefined;
  return (
    <div
      role={quiet ? undefined : "alert"}
      data-problem
      className="flex min-w-0 flex-wrap items-start gap-x-4 gap-y-2 self-stretch rounded-xl border border-destructive/40 bg-destructive/6 px-3.5 py-2.5 text-sm"
    >
      <div className={`flex min-w-0 flex-1 basis-44 items-start gap-2.5 py-1.5 ${hasButtons ? "pointer-coarse:py-3" : ""}`}>
        <CircleAlert className="mt-0.5 size-4 shrink-0 text-destructive" aria-hidden />
        <p dir="auto" className="min-w-0 whitespace-pre-wrap wrap-anywhere">
          {text || "Something went wrong."}
        </p>
      </div>
      {hasButtons && (
        <div className="ms-auto flex gap-2">
          {onRetry && (
            <Button size="small" onClick={() => void onRetry()}>
              <RotateCw className="size-3.5" aria-hidden /> Retry
            </Button>
          )}
          {onDismiss && (
            <Button size="small" look="ghost" onClick={onDismiss}>
              Dismiss
            </Button>
          )}
        </div>
      )}
    </div>
  );
}
