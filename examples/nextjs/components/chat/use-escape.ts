import { useEffect, useEffectEvent } from "react";

/** Escape does this while it is `on`, unless a dialog, a menu or a field of its own has taken the key. */
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
