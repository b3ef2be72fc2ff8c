import type { Progress as Reported } from "../chat/message-types";

/** Progress of a running tool with the tool's text: a bar if the total is known, otherwise the number. */
export function Progress({ progress, total, message }: Reported) {
  const label = message ?? "Progress";
  const count = counted(progress, total);
  return (
    <div className="flex flex-col gap-1.5 px-3.5 pb-3.5" data-progress>
      <p className="flex min-w-0 items-baseline gap-3">
        <span dir="auto" className="min-w-0 grow text-muted-foreground wrap-anywhere">
          {message}
        </span>
        <bdi className="shrink-0 tabular-nums">{count}</bdi>
      </p>
      {total !== undefined && total > 0 && (
        <progress
          aria-label={label}
          value={Math.min(Math.max(progress, 0), total)}
          max={total}
          className="h-1.5 w-full appearance-none overflow-hidden rounded-full bg-muted [&::-moz-progress-bar]:bg-primary [&::-webkit-progress-bar]:bg-muted [&::-webkit-progress-value]:bg-primary"
        />
      )}
    </div>
  );
}

/** `12 / 50` for counts, a percentage for other totals. */
function counted(progress: number, total: number | undefined): string {
  if (total === undefined || total <= 0) return progress.toLocaleString();
  if (Number.isInteger(progress) && Number.isInteger(total) && total > 1 && total !== 100) {
    return `${progress.toLocaleString()} / ${total.toLocaleString()}`;
  }
  return `${Math.round((100 * progress) / total)} %`;
}
