import { useEffect, useEffectEvent } from "react";

/** `keys` such as `Mod+Shift+O`. `Mod` is ⌘ on Apple devices, and otherwise Ctrl. */
export type Shortcut = { keys?: string; run: () => void };

/** Runs the shortcut whose keys are pressed. */
export function useShortcuts(shortcuts: Shortcut[]): void {
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    const shortcut = shortcuts.find(({ keys }) => keys !== undefined && isPressed(keys, event));
    if (shortcut === undefined) return;
    event.preventDefault();
    shortcut.run();
  });
  useEffect(() => {
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
}

function isPressed(keys: string, event: KeyboardEvent): boolean {
  const pressed = keys.split("+");
  return (
    pressed.includes("Mod") === (event.ctrlKey || event.metaKey) &&
    pressed.includes("Shift") === event.shiftKey &&
    !event.altKey &&
    event.key.toLowerCase() === pressed.at(-1)?.toLowerCase()
  );
}
