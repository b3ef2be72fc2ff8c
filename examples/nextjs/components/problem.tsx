import { CircleAlert } from "lucide-react";
import { Button } from "./button";

export function Problem({ text, onRetry, onDismiss }: { text: string; onRetry: () => void; onDismiss?: () => void }) {
  return (
    <div role="alert" className="flex flex-wrap items-center gap-3 rounded-xl border border-destructive/40 bg-destructive/8 p-3 text-sm">
      <CircleAlert className="size-5 shrink-0 text-destructive" aria-hidden />
      <p className="min-w-40 flex-1 wrap-anywhere">{text}</p>
      <Button onClick={onRetry}>Retry</Button>
      {onDismiss && (
        <Button look="ghost" onClick={onDismiss}>
          Dismiss
        </Button>
      )}
    </div>
  );
}
