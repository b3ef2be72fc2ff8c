import { Hand, LoaderCircle } from "lucide-react";
import { useState } from "react";
import { useHost } from "../chat/host";
import { shownDate } from "../ui/shown-date";
import { ChatMenu } from "./ChatMenu";
import type { Changes, ListedChat } from "./chat-list";

type ChatItemProps = {
  chat: ListedChat;
  current: boolean;
  /** True if the Tab key reaches this chat and its menu. */
  tabStop: boolean;
  onPick: () => void;
  onUpdate: (changes: Changes) => void;
  onDelete: () => void;
};

export function ChatItem({ chat, current, tabStop, onPick, onUpdate, onDelete }: ChatItemProps) {
  const { chatHref, Link } = useHost();
  const [renaming, setRenaming] = useState(false);
  const title = chat.title || "Untitled";
  const rename = (text: string) => {
    setRenaming(false);
    if (text !== (chat.title ?? "")) onUpdate({ title: text || null });
  };
  if (renaming) {
    return (
      <li>
        <TitleField title={chat.title ?? ""} onSave={rename} onCancel={() => setRenaming(false)} />
      </li>
    );
  }
  return (
    <li
      data-chat={chat.id}
      className="relative flex items-center rounded-lg transition-colors hover:bg-accent/50 has-aria-[current]:bg-accent has-aria-[current]:before:absolute has-aria-[current]:before:inset-y-2 has-aria-[current]:before:start-0 has-aria-[current]:before:w-0.75 has-aria-[current]:before:rounded-full has-aria-[current]:before:bg-primary"
    >
      <Link
        href={chatHref(chat.id)}
        tabIndex={tabStop ? 0 : -1}
        dir="auto"
        title={`${title}\n${shownDate(chat.updatedAt)}`}
        onClick={onPick}
        aria-current={current ? "page" : undefined}
        className="min-w-0 flex-1 truncate rounded-lg px-2.5 py-1.5 text-start text-sm aria-[current]:font-medium"
      >
        {title}
      </Link>
      {chat.waiting && !chat.running && (
        <span role="img" aria-label="Needs your input" title="Needs your input" className="chat-waits me-1 text-warning">
          <Hand className="size-4" aria-hidden />
        </span>
      )}
      {chat.running && (
        <span role="img" aria-label="Answering" className="me-1 text-muted-foreground">
          <LoaderCircle className="size-4 animate-spin" aria-hidden />
        </span>
      )}
      <ChatMenu
        title={title}
        archived={chat.archived}
        tabIndex={tabStop ? 0 : -1}
        onRename={() => setRenaming(true)}
        onArchive={() => onUpdate({ archived: !chat.archived })}
        onDelete={onDelete}
      />
    </li>
  );
}

type TitleFieldProps = { title: string; onSave: (title: string) => void; onCancel: () => void };

function TitleField({ title, onSave, onCancel }: TitleFieldProps) {
  return (
    <input
      aria-label="Title"
      dir="auto"
      autoFocus
      defaultValue={title}
      maxLength={200}
      onFocus={(event) => event.target.select()}
      onBlur={(event) => onSave(event.target.value.trim())}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !event.nativeEvent.isComposing) event.currentTarget.blur();
        if (event.key !== "Escape") return;
        event.preventDefault(); // Escape must not stop the reply
        event.stopPropagation(); // and must not close the sidebar
        onCancel();
      }}
      className="w-full rounded-lg border bg-background px-2.5 py-1.5 text-sm"
    />
  );
}
