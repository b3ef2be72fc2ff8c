import { Keyboard, type LucideIcon, Monitor, Moon, PanelLeft, ScanSearch, Search, SquarePen, Sun } from "lucide-react";
import { openNewChat } from "../layout/chat-id";
import type { Shortcut } from "../components/layout/shortcuts";
import type { Theme } from "../components/layout/theme";

/** What can be done from the keyboard, here and in the palette. */
export type Command = Shortcut & { name: string; icon: LucideIcon; opensPalette?: true };

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
