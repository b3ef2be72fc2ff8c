import type { ReactNode } from "react";

type RowButtonProps = { side: "event" | "chunk"; pressed: boolean; onClick: () => void; children: ReactNode };

/** Reached with the arrow keys, not with Tab: there may be thousands. */
export function RowButton({ side, pressed, ...rest }: RowButtonProps) {
  return (
    <button
      type="button"
      tabIndex={-1}
      data-side={side}
      aria-pressed={pressed}
      className="flex w-full min-w-0 scroll-mt-(--header) items-start gap-x-2 px-4 @max-lg:flex-wrap @max-lg:content-start @max-lg:px-3 py-1.5 text-start text-xs -outline-offset-2 hover:bg-accent aria-pressed:bg-accent"
      {...rest}
    />
  );
}
