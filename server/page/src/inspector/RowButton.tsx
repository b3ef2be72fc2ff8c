import type { ReactNode } from "react";

type RowButtonProps = {
  side: "event" | "chunk";
  pressed: boolean;
  /** Over both columns: its two children are cells. */
  wide?: boolean;
  onClick: () => void;
  children: ReactNode;
};

/** What is in one column of a row. In a narrow panel, figures stand below the rest. */
export const CELL = "flex min-w-0 items-start gap-x-2 px-4 py-1.5 @max-lg:flex-wrap @max-lg:content-start @max-lg:px-3";

/** How a row looks: grey under the pointer, and with an edge and a tone of its own when it is chosen. */
const LOOK =
  "before:absolute before:inset-y-0 before:start-0 before:w-0.75 hover:bg-accent aria-pressed:bg-primary/10 aria-pressed:before:bg-primary -outline-offset-2 focus-visible:outline-ring";

/** Reached with the arrow keys, not with Tab: there may be thousands. */
export function RowButton({ side, pressed, wide = false, ...rest }: RowButtonProps) {
  return (
    <button
      type="button"
      tabIndex={-1}
      data-side={side}
      aria-pressed={pressed}
      className={`relative w-full scroll-mt-(--header) text-start text-xs ${wide ? "grid grid-cols-2" : CELL} ${LOOK}`}
      {...rest}
    />
  );
}
