import { Command as List } from "cmdk";
import { MessageSquare } from "lucide-react";
import { useState } from "react";
import { openChat } from "../layout/chat-id";
import { useChats } from "../components/sidebar/chat-list";
import { Dialog } from "../components/ui/dialog";
import { Keys } from "../components/ui/keys";
import { shortDate, shownDate } from "../components/ui/shown-date";
import type { Command } from "./commands";

type PaletteProps = { onClose: () => void; commands: Command[] };

/** Every command and every chat, found by a few letters. */
export default function Palette({ onClose, commands }: PaletteProps) {
  return (
    <Dialog open onOpenChange={onClose} title="Find a chat or a command" bare>
      <Found commands={commands} onDone={onClose} />
    </Dialog>
  );
}

const GROUP =
  "[&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:pt-3 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-muted-foreground";
const ITEM =
  "flex cursor-pointer items-center gap-3 rounded-lg px-3 py-2 text-sm data-[selected=true]:bg-accent [&_svg]:size-4 [&_svg]:shrink-0 [&_svg]:text-muted-foreground";

function Found({ commands, onDone }: { commands: Command[]; onDone: () => void }) {
  const [search, setSearch] = useState("");
  const { chats } = useChats(search.trim(), false);
  const doneAnd = (run: () => void) => () => {
    onDone();
    run();
  };
  return (
    <List label="Find a chat by its title, or a command" className="flex min-h-0 flex-col">
      <List.Input
        value={search}
        onValueChange={setSearch}
        dir="auto"
        placeholder="Find a chat by its title, or a command"
        className="h-12 border-b bg-transparent px-5 outline-none placeholder:text-muted-foreground"
      />
      <List.List className="max-h-[min(24rem,56vh)] overflow-y-auto p-2 pt-0">
        <List.Empty className="p-6 text-center text-sm text-muted-foreground">No results</List.Empty>
        <List.Group heading="Commands" className={GROUP}>
          {commands.filter(({ opensPalette }) => !opensPalette).map(({ name, icon: Icon, keys, run }) => (
            <List.Item key={name} onSelect={doneAnd(run)} className={ITEM}>
              <Icon aria-hidden />
              <span className="flex-1">{name}</span>
              {keys && <Keys keys={keys} />}
            </List.Item>
          ))}
        </List.Group>
        {chats.length > 0 && (
          <List.Group heading="Chats" className={GROUP}>
            {chats.map(({ id, title, updatedAt }) => (
              <List.Item key={id} value={id} keywords={[title ?? "Untitled"]} onSelect={doneAnd(() => openChat(id))} className={ITEM}>
                <MessageSquare aria-hidden />
                <span dir="auto" className="min-w-0 flex-1 truncate">
                  {title || "Untitled"}
                </span>
                <time dateTime={updatedAt} title={shownDate(updatedAt)} className="shrink-0 text-xs text-muted-foreground tabular-nums">
                  {shortDate(updatedAt)}
                </time>
              </List.Item>
            ))}
          </List.Group>
        )}
      </List.List>
    </List>
  );
}
