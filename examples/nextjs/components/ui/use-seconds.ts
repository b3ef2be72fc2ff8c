import { useEffect, useRef, useState } from "react";

/**
 * The duration in seconds, in whole seconds while it is running. `undefined` if it began before the page was loaded.
 */
export function useSeconds(running: boolean): number | undefined {
  const began = useRef<number>(undefined);
  const [seconds, setSeconds] = useState<number>();
  useEffect(() => {
    const since = () => (performance.now() - (began.current ?? 0)) / 1000;
    if (!running) {
      if (began.current !== undefined) setSeconds(since());
      return;
    }
    began.current ??= performance.now();
    const timer = setInterval(() => setSeconds(Math.round(since())), 1000);
    return () => clearInterval(timer);
  }, [running]);
  return seconds;
}
