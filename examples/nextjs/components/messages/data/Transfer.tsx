import { ArrowRightLeft } from "lucide-react";
import type { ComponentProps } from "react";

/** A note that another agent takes over. */
export function Transfer({ data }: { data: unknown }) {
  return (
    <Note data-transfer>
      <ArrowRightLeft className="size-3.5" aria-hidden />
      Handed over to <bdi className="font-medium text-foreground">{(data as { agent: string }).agent}</bdi>
    </Note>
  );
}

/** A line of text between the parts of a reply. */
export function Note({ children, ...attributes }: ComponentProps<"p">) {
  return (
    <p className="flex items-center gap-3 text-xs text-muted-foreground" {...attributes}>
      <span className="h-px flex-1 bg-border" />
      <span className="flex items-center gap-1.5">{children}</span>
      <span className="h-px flex-1 bg-border" />
    </p>
  );
}
