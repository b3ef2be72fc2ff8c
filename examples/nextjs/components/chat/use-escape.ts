import { useEffect, useEffectEvent } from "react";

/** Call a function on Escape while `on`, unless a dialog, a menu or a field has handled the key. */
export function useEscape(on: boolean, act: () => void): void {
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
    act();
  });
  useEffect(() => {
    if (!on) return;
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, [on]);
}
