import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { Button } from "./button";

export const BACKDROP = "fixed inset-0 z-40 bg-black/40";

const PLACES = {
  middle: "inset-x-0 top-[12vh] mx-auto w-[min(32rem,calc(100vw-2rem))] max-h-[76vh] rounded-2xl border",
  whole: "inset-4 rounded-2xl border",
  side: "inset-y-0 start-0 w-72 max-w-[85vw] border-e",
};

type DialogProps = {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  /** True for a dialog without a header. Only screen readers get the title, and the content gets the focus. */
  bare?: boolean;
  place?: keyof typeof PLACES;
  /** The element that opens the dialog, and gets the focus when it closes. */
  trigger?: ReactNode;
  children: ReactNode;
};

export function Dialog({ open, onOpenChange, title, bare, place = "middle", trigger, children }: DialogProps) {
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      {trigger !== undefined && <Radix.Trigger asChild>{trigger}</Radix.Trigger>}
      <Radix.Portal>
        <Radix.Overlay className={BACKDROP} />
        <Radix.Content
          aria-describedby={undefined}
          className={`fixed z-40 flex flex-col bg-popover shadow-xl outline-none ${PLACES[place]}`}
        >
          {bare ? (
            <Radix.Title className="sr-only">{title}</Radix.Title>
          ) : (
            <header className="flex items-center justify-between ps-5 pe-3 pt-3">
              <Radix.Title className="min-w-0 truncate font-semibold">{title}</Radix.Title>
              <Radix.Close asChild>
                <Button look="ghost" size="icon" aria-label="Close">
                  <X />
                </Button>
              </Radix.Close>
            </header>
          )}
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
