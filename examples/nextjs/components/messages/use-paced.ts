import { useEffect, useLayoutEffect, useRef, useState } from "react";

/** For each millisecond that it takes to draw a text, so many pass before it is drawn again: keys are handled there. */
const REST = 2;

/** The text that grows, as often as it can be drawn without holding up what else the page does. */
export function usePaced(text: string): string {
  const [drawn, draw] = useState(text);
  const begun = useRef<number>(undefined);
  const restsUntil = useRef(0);
  useEffect(() => {
    if (text === drawn) return;
    const timer = setTimeout(() => {
      begun.current = performance.now();
      draw(text);
    }, restsUntil.current - performance.now());
    return () => clearTimeout(timer);
  }, [text, drawn]);
  useLayoutEffect(() => {
    if (begun.current === undefined) return;
    const now = performance.now();
    restsUntil.current = now + (now - begun.current) * REST;
    begun.current = undefined;
  }, [drawn]);
  return drawn;
}
