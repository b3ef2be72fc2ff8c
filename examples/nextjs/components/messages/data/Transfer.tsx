import { ArrowRightLeft } from "lucide-react";

/** Another agent goes on. */
export function Transfer({ data }: { data: unknown }) {
  return (
    <p className="flex items-center gap-3 text-xs text-muted-foreground" data-transfer>
      <span className="h-px flex-1 bg-border" />
      <span className="flex items-center gap-1.5">
        <ArrowRightLeft className="size-3.5" aria-hidden />
        handed over to <bdi className="font-medium text-foreground">{(data as { agent: string }).agent}</bdi>
      </span>
      <span className="h-px flex-1 bg-border" />
    </p>
  );
}
