import type { ReactNode } from "react";
import { Marked } from "./Marked";

type RowButtonProps = {
  side: "event" | "chunk";
  pressed: boolean;
  /** The button covers both columns. Its two children are cells. */
  wide?: boolean;
  onClick: () => void;
  children: ReactNode;
};

/** The box of one column of a row: a dot, texts and figures. */
export const CELL = "flex min-w-0 items-start gap-x-2 px-4 py-1 pointer-coarse:py-1.5 @max-lg:px-3";

/** The texts of a row. Short ones share a line. */
export const TEXTS = "flex min-w-0 flex-1 flex-wrap items-baseline gap-x-2";

/** Classes of a row: grey under the pointer, with a coloured edge if it is chosen. */
const LOOK =
  "before:absolute before:inset-y-0 before:start-0 before:w-0.75 hover:bg-accent aria-pressed:bg-primary/10 aria-pressed:before:bg-primary -outline-offset-2 focus-visible:outline-ring";

/** Button of a row. Arrow keys move the focus to it. Tab skips it, because a chat may have thousands of rows. */
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

/** The agent of a row. A narrow panel shows it only if there are several agents. */
export function Author({ name }: { name: string }) {
  return (
    <span className="max-w-full truncate text-[0.6875rem] text-muted-foreground @max-lg:in-data-one-agent:hidden">
      <Marked text={name} />
    </span>
  );
}
