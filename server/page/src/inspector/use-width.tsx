import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef } from "react";
import { useSetting } from "../components/layout/setting";

/** Of the window, in percent. */
const [NARROWEST, WIDEST, STEP] = [25, 75, 5];

/** The panel's width in percent, and the edge that changes it; kept in this browser. */
export function useWidth(): [number, ReactNode] {
  const [kept, keep] = useSetting("inspector-width", "45");
  const width = within(Number(kept));
  const drags = useRef(false);
  const rtl = document.dir === "rtl";
  const onPointerMove = ({ clientX, currentTarget }: PointerEvent) => {
    const row = currentTarget.closest("aside")?.parentElement?.getBoundingClientRect();
    if (!drags.current || !row) return;
    keep(String(within((100 * (rtl ? clientX - row.left : row.right - clientX)) / row.width)));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const wider = rtl ? "ArrowRight" : "ArrowLeft";
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    event.preventDefault();
    keep(String(within(width + (event.key === wider ? STEP : -STEP))));
  };
  const handle = (
    <div
      role="separator"
      tabIndex={0}
      aria-label="Width of the Inspector"
      aria-orientation="vertical"
      aria-valuenow={width}
      aria-valuemin={NARROWEST}
      aria-valuemax={WIDEST}
      onPointerDown={(event) => {
        drags.current = true;
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerUp={() => (drags.current = false)}
      onPointerMove={onPointerMove}
      onKeyDown={onKeyDown}
      className="absolute inset-y-0 -start-1 z-10 w-2 cursor-col-resize touch-none hover:bg-ring/40 focus-visible:bg-ring/40 max-md:hidden"
    />
  );
  return [width, handle];
}

function within(width: number): number {
  return Math.round(Math.min(WIDEST, Math.max(NARROWEST, width || 45)));
}
