import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef } from "react";
import { useSetting } from "../components/layout/setting";

type Sizing = {
  /** The name of the setting in this browser. */
  name: string;
  label: string;
  /** Which side of the box can be dragged: its start, or its top. */
  side: "start" | "top";
  /** Percents of the parent. */
  otherwise: number;
  least: number;
  most: number;
};

/** Percents by which a key changes a size. */
const STEP = 5;

const KEYS = { start: ["ArrowLeft", "ArrowRight"], top: ["ArrowUp", "ArrowDown"] } as const;

const LOOKS = {
  start: "inset-y-0 -start-1 w-2 cursor-col-resize max-md:hidden",
  top: "inset-x-0 -top-1.5 h-3 cursor-row-resize",
};

/** The size of a box in percent of its parent, and the edge that changes it; kept in this browser. */
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
      className={`absolute z-20 touch-none hover:bg-ring/40 focus-visible:bg-ring/40 ${LOOKS[side]}`}
    />
  );
  return [size, handle];
}
