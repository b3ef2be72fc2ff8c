import { SquarePen } from "lucide-react";
import { useHost } from "../chat/host";
import { Button } from "../ui/button";
import { Dialog } from "../ui/dialog";
import { Tooltip } from "../ui/tooltip";
import { ChatList } from "./ChatList";

type SidebarProps = { current: string; narrow: boolean; open: boolean; onOpenChange: (open: boolean) => void };

/** The user's chats: beside the open chat, or over it on a narrow screen. */
export function Sidebar({ current, narrow, open, onOpenChange }: SidebarProps) {
  if (!narrow) {
    if (!open) return null;
    return (
      <aside aria-label="Sidebar" className="flex w-64 shrink-0 flex-col border-e bg-sidebar max-md:hidden">
        <Chats current={current} onPick={() => undefined} />
      </aside>
    );
  }
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="Chats" place="side">
      <Chats current={current} onPick={() => onOpenChange(false)} />
    </Dialog>
  );
}

function Chats({ current, onPick }: { current: string; onPick: () => void }) {
  const { openNewChat } = useHost();
  const begin = () => {
    onPick();
    openNewChat();
  };
  return (
    <nav aria-label="Chats" className="flex min-h-0 flex-1 flex-col gap-2 p-3">
      <Tooltip label="New chat" keys="Mod+Shift+O">
        <Button size="small" look="ghost" className="justify-start text-foreground" onClick={begin}>
          <SquarePen className="size-4" aria-hidden /> New chat
        </Button>
      </Tooltip>
      <ChatList current={current} onPick={onPick} />
    </nav>
  );
}
