import { Ellipsis, Keyboard, PanelLeft, ScanSearch, Search, SquarePen } from "lucide-react";
import { useHost } from "../chat/host";
import { IconButton } from "../ui/icon-button";
import { Mark } from "../ui/mark";
import { Menu, MenuChoice, MenuItem, MenuLine } from "../ui/menu";
import { type Theme, THEMES } from "./theme";

type HeaderProps = {
  agent: string | undefined;
  /** Title of the open chat. `undefined` for a new chat. */
  title: string | undefined;
  sidebar: boolean;
  inspecting?: boolean;
  theme: Theme;
  onSidebar: () => void;
  /** `undefined` if the server has no Inspector. */
  onInspect?: (() => void) | undefined;
  /** `undefined` if there is nothing to search, or there are no shortcuts. */
  onPalette?: () => void;
  onShortcuts?: () => void;
  onTheme: (theme: Theme) => void;
};

export function Header({ agent, title, sidebar, inspecting, theme, ...on }: HeaderProps) {
  const { openNewChat } = useHost();
  return (
    <header className="flex h-12 shrink-0 items-center gap-1 border-b px-2">
      <IconButton label={sidebar ? "Hide chats" : "Show chats"} keys="Mod+B" aria-expanded={sidebar} onClick={on.onSidebar}>
        <PanelLeft className="rtl:rotate-180" />
      </IconButton>
      <h1 className="ms-1 flex min-w-0 items-center gap-2 text-sm font-semibold">
        <Mark />
        <bdi className="truncate">{title ?? agent ?? "ADK chat"}</bdi>
      </h1>
      {title !== undefined && agent !== undefined && (
        <bdi className="ms-1 max-w-40 shrink-0 truncate text-xs text-muted-foreground max-sm:hidden">{agent}</bdi>
      )}
      <div className="ms-auto flex items-center">
        {on.onPalette && (
          <IconButton label="Find" keys="Mod+K" aria-haspopup="dialog" className="max-sm:hidden" onClick={on.onPalette}>
            <Search />
          </IconButton>
        )}
        {on.onInspect && (
          <IconButton label="Inspector" keys="Mod+I" aria-pressed={inspecting} className="max-sm:hidden" onClick={on.onInspect}>
            <ScanSearch />
          </IconButton>
        )}
        <Menu
          trigger={
            <IconButton label={on.onShortcuts ? "Menu" : "Theme"}>
              <Ellipsis />
            </IconButton>
          }
        >
          {on.onPalette && (
            <MenuItem className="sm:hidden" onSelect={on.onPalette}>
              <Search aria-hidden /> Find
            </MenuItem>
          )}
          {on.onInspect && (
            <MenuItem className="sm:hidden" onSelect={on.onInspect}>
              <ScanSearch aria-hidden /> Inspector
            </MenuItem>
          )}
          <MenuChoice label="Theme" value={theme} choices={THEMES} onChoose={on.onTheme} />
          {on.onShortcuts && (
            <>
              <MenuLine />
              <MenuItem onSelect={on.onShortcuts}>
                <Keyboard aria-hidden /> Keyboard shortcuts
              </MenuItem>
            </>
          )}
        </Menu>
        {!sidebar && (
          <IconButton label="New chat" keys="Mod+Shift+O" onClick={openNewChat}>
            <SquarePen />
          </IconButton>
        )}
      </div>
    </header>
  );
}
