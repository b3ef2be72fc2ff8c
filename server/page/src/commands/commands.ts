import { Keyboard, type LucideIcon, Monitor, Moon, PanelLeft, ScanSearch, Search, SquarePen, Sun } from "lucide-react";
import { useEffect, useEffectEvent } from "react";
import { openNewChat } from "../layout/chat-id";
import type { Theme } from "../components/layout/theme";

/** What can be done from the keyboard, here and in the palette. `keys` as `Mod+Shift+O`; `Mod` is ⌘ or Ctrl. */
export type Command = { name: string; icon: LucideIcon; keys?: string; opensPalette?: true; run: () => void };

type Page = {
  toggleSidebar: () => void;
  /** `undefined` where the server has no inspector. */
  toggleInspector: (() => void) | undefined;
  openPalette: () => void;
  openShortcuts: () => void;
  chooseTheme: (theme: Theme) => void;
};

export function pageCommands(page: Page): Command[] {
  return [
    { name: "New chat", icon: SquarePen, keys: "Mod+Shift+O", run: openNewChat },
    { name: "Find a chat or a command", icon: Search, keys: "Mod+K", opensPalette: true, run: page.openPalette },
    { name: "Show or hide the chats", icon: PanelLeft, keys: "Mod+B", run: page.toggleSidebar },
    ...(page.toggleInspector
      ? [{ name: "Show or hide the inspector", icon: ScanSearch, keys: "Mod+I", run: page.toggleInspector }]
      : []),
    { name: "Keyboard shortcuts", icon: Keyboard, keys: "Mod+/", run: page.openShortcuts },
    { name: "Light theme", icon: Sun, run: () => page.chooseTheme("light") },
    { name: "Dark theme", icon: Moon, run: () => page.chooseTheme("dark") },
    { name: "Theme of the system", icon: Monitor, run: () => page.chooseTheme("system") },
  ];
}

/** Runs the command whose keys are pressed. */
export function useShortcuts(commands: Command[]): void {
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    const command = commands.find(({ keys }) => keys !== undefined && isPressed(keys, event));
    if (command === undefined) return;
    event.preventDefault();
    command.run();
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
