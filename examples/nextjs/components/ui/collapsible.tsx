import { ChevronDown } from "lucide-react";
import { Collapsible as Radix } from "radix-ui";
import type { ReactNode } from "react";

type CollapsibleProps = {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  /** Content that is always visible: the button that opens and closes. */
  summary: ReactNode;
  className?: string;
  summaryClassName?: string;
  children: ReactNode;
};

export function Collapsible({ open, onOpenChange, summary, className = "", summaryClassName = "", children }: CollapsibleProps) {
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange} className={className}>
      <Radix.Trigger className={`flex items-center gap-2 rounded-md text-start ${summaryClassName}`}>
        {summary}
        <ChevronDown
          className="size-4 shrink-0 text-muted-foreground transition-transform [[data-state=open]>&]:rotate-180"
          aria-hidden
        />
      </Radix.Trigger>
      <Radix.Content className="unfolds">{children}</Radix.Content>
    </Radix.Root>
  );
}
