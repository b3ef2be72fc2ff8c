import { Tooltip as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { Keys } from "./keys";

export const TooltipProvider = Radix.Provider;

type TooltipProps = { label: string; keys?: string | undefined; children: ReactNode };

/** A tooltip with the label of its child, and the keys of its shortcut. */
export function Tooltip({ label, keys, children }: TooltipProps) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          sideOffset={6}
          collisionPadding={8}
          className="z-50 flex items-center gap-2 rounded-md bg-foreground px-2 py-1 text-xs text-background shadow-md"
        >
          {label}
          {keys !== undefined && <Keys keys={keys} />}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
