import { type RefObject, useLayoutEffect, useState } from "react";

/** Return whether a box is at least this wide, in CSS pixels. */
export function useIsWide(box: RefObject<HTMLElement | null>, least: number): boolean {
  const [isWide, setIsWide] = useState(false);
  useLayoutEffect(() => {
    const found = box.current;
    if (!found) return;
    const measure = () => setIsWide(found.clientWidth >= least);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(found);
    return () => observer.disconnect();
  }, [box, least]);
  return isWide;
}
