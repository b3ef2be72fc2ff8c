import { useEffect, useRef, useState } from "react";

/** How long this ran, once it no longer does; of what ran before the page was there nothing is known. */
export function useSeconds(running: boolean): number | undefined {
  const began = useRef<number>(undefined);
  const [seconds, setSeconds] = useState<number>();
  useEffect(() => {
    if (running) began.current ??= performance.now();
    else if (began.current !== undefined) setSeconds((performance.now() - began.current) / 1000);
  }, [running]);
  return seconds;
}
