import { Archive, LoaderCircle, Search } from "lucide-react";
import Link from "next/link";
import { useParams, useRouter } from "next/navigation";
import { useState } from "react";
import { type Changes, type ListedChat, useChats } from "@/lib/chats";
import { Button } from "./button";
import { ChatMenu } from "./chat-menu";

/** The chats, found by their titles; archived ones are a list of their own. The next page comes when it is scrolled to. */
export function ChatList({ onPick }: { onPick: () => void }) {
  const [search, setSearch] = useState("");
  const [archived, setArchived] = useState(false);
  const { chats, more, update, remove } = useChats(search.trim(), archived);
  const open = decodeURIComponent(useParams<{ id?: string }>().id ?? "");
  const router = useRouter();
  const removeAndLeave = async (id: string) => {
    await remove(id);
    if (open === id) router.push("/");
  };
  return (
    <>
      <label className="flex items-center gap-2 rounded-lg border bg-card px-3 text-muted-foreground focus-within:outline-2">
        <Search className="size-4 shrink-0" />
        <input
          type="search"
          aria-label="Search chats"
          placeholder="Search"
          maxLength={200}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          className="h-8 min-w-0 flex-1 bg-transparent text-sm text-foreground outline-none"
        />
      </label>
      <ul className="min-h-0 flex-1 overflow-y-auto">
        {chats.map((chat) => (
          <Item
            key={chat.id}
            chat={chat}
            open={chat.id === open}
            onPick={onPick}
            onUpdate={(changes) => void update(chat.id, changes)}
            onDelete={() => void removeAndLeave(chat.id)}
          />
        ))}
        {chats.length === 0 && (search || archived) && (
          <li className="px-3 py-2 text-sm text-muted-foreground">{search ? "No title has this." : "Nothing is archived."}</li>
        )}
        {more && <li key={chats.length} ref={(end) => whenSeen(end, more)} className="h-px" />}
      </ul>
      <Button look="ghost" className="justify-start" aria-pressed={archived} onClick={() => setArchived(!archived)}>
        <Archive className="size-4" />
        {archived ? "Back to the chats" : "Archived"}
      </Button>
    </>
  );
}

type ItemProps = {
  chat: ListedChat;
  open: boolean;
  onPick: () => void;
  onUpdate: (changes: Changes) => void;
  onDelete: () => void;
};

function Item({ chat, open, onPick, onUpdate, onDelete }: ItemProps) {
  const [renaming, setRenaming] = useState(false);
  const title = chat.title || "Untitled";
  const rename = (text: string) => {
    setRenaming(false);
    if (text !== chat.title) onUpdate({ title: text || null });
  };
  if (renaming) {
    return (
      <li>
        <input
          aria-label="Title"
          autoFocus
          defaultValue={chat.title ?? ""}
          maxLength={200}
          onFocus={(event) => event.target.select()}
          onBlur={(event) => rename(event.target.value.trim())}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.nativeEvent.isComposing) event.currentTarget.blur();
            if (event.key === "Escape") setRenaming(false);
          }}
          className="w-full rounded-lg border bg-card px-3 py-2 text-sm"
        />
      </li>
    );
  }
  return (
    <li className="group/chat flex items-center rounded-lg hover:bg-accent has-aria-[current]:bg-accent">
      <Link
        href={`/chat/${encodeURIComponent(chat.id)}`}
        onClick={onPick}
        aria-current={open ? "page" : undefined}
        className="min-w-0 flex-1 truncate px-3 py-2 text-sm"
      >
        {title}
      </Link>
      {chat.running && (
        <span role="img" aria-label="Answering" className="mr-1 text-muted-foreground">
          <LoaderCircle className="size-4 animate-spin" />
        </span>
      )}
      <ChatMenu
        title={title}
        archived={chat.archived}
        onRename={() => setRenaming(true)}
        onArchive={() => onUpdate({ archived: !chat.archived })}
        onDelete={onDelete}
      />
    </li>
  );
}

function whenSeen(element: Element | null, act: () => void): () => void {
  const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && act());
  if (element) observer.observe(element);
  return () => observer.disconnect();
}
