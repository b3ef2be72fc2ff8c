import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef } from "react";
import { useSetting } from "../components/layout/setting";

type Sizing = {
  /** Name of the setting in the browser's storage. */
  name: string;
  label: string;
  /** Side of the box that can be dragged. */
  side: "start" | "top";
  /** Default, minimum and maximum size in percent of the parent. */
  otherwise: number;
  least: number;
  most: number;
};

/** Percents by which an arrow key changes the size. */
const STEP = 5;

const KEYS = { start: ["ArrowLeft", "ArrowRight"], top: ["ArrowUp", "ArrowDown"] } as const;

const LOOKS = {
  start: "inset-y-0 -start-1 w-2 cursor-col-resize after:h-full after:w-0.75 max-md:hidden",
  top: "inset-x-0 -top-1.5 h-3 cursor-row-resize before:absolute before:h-1 before:w-8 before:rounded-full before:bg-border after:h-0.75 after:w-full",
};

/** Return the size of a box in percent of its parent, and the edge that changes the size. The browser stores the size. */
export function useSize({ name, label, side, otherwise, least, most }: Sizing): [number, ReactNode] {
  const [kept, keep] = useSetting(name, String(otherwise));
  const within = (size: number) => Math.round(Math.min(most, Math.max(least, size || otherwise)));
  const size = within(Number(kept));
  const drags = useRef(false);
  const rtl = document.dir === "rtl";
  const onPointerMove = ({ clientX, clientY, currentTarget }: PointerEvent) => {
    const around = currentTarget.parentElement?.parentElement?.getBoundingClientRect();
    if (!drags.current || !around) return;
    const across = (rtl ? clientX - around.left : around.right - clientX) / around.width;
    keep(String(within(100 * (side === "top" ? (around.bottom - clientY) / around.height : across))));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const [before, after] = KEYS[side];
    const [larger, smaller] = side === "start" && rtl ? [after, before] : [before, after];
    const changed = { [larger]: size + STEP, [smaller]: size - STEP, Home: least, End: most }[event.key];
    if (changed === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    keep(String(within(changed)));
  };
  const handle = (
    <div
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={side === "start" ? "vertical" : "horizontal"}
      aria-valuenow={size}
      aria-valuemin={least}
      aria-valuemax={most}
      onPointerDown={(event) => {
        drags.current = true;
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerUp={() => (drags.current = false)}
      onPointerMove={onPointerMove}
      onKeyDown={onKeyDown}
      className={`absolute z-20 grid touch-none place-items-center after:absolute hover:after:bg-ring/60 focus-visible:after:bg-ring/60 ${LOOKS[side]}`}
    />
  );
  return [size, handle];
}
