import { type RefObject, useLayoutEffect, useState } from "react";

/** At which edges a box has content that the user must scroll to. */
export type Cut = "" | "above" | "below" | "above below";

/** Return where the content of a scrolling box is cut. */
export function useCut(box: RefObject<HTMLElement | null>): Cut {
  const [cut, setCut] = useState<Cut>("");
  useLayoutEffect(() => {
    const found = box.current;
    if (!found) return;
    const look = () => {
      const above = found.scrollTop > 1;
      const below = found.scrollHeight - found.clientHeight - found.scrollTop > 1;
      setCut(above && below ? "above below" : above ? "above" : below ? "below" : "");
    };
    look();
    const observer = new ResizeObserver(look);
    for (const each of [found, ...found.children]) observer.observe(each);
    found.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      found.removeEventListener("scroll", look);
    };
  }, [box]);
  return cut;
}
