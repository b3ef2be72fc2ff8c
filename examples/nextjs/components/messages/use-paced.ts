import { useEffect, useLayoutEffect, useRef, useState } from "react";

/** The pause before the next render, as a multiple of the last render time. It leaves time to handle key presses. */
const REST = 2;

/** Throttle a streaming text, so that rendering does not block the rest of the page. */
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
