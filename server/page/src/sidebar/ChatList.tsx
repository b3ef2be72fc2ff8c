import { Archive, ArrowLeft, Search } from "lucide-react";
import { useState } from "react";
import { openNewChat } from "../chat/chat-id";
import { Button } from "../ui/button";
import { ChatItem } from "./ChatItem";
import { useChats } from "./chat-list";

/** The chats, found by their titles; archived ones are a list of their own. The next page comes when it is scrolled to. */
export function ChatList({ current, onPick }: { current: string; onPick: () => void }) {
  const [search, setSearch] = useState("");
  const [archived, setArchived] = useState(false);
  const { chats, more, update, remove } = useChats(search.trim(), archived);
  const removeAndLeave = async (id: string) => {
    await remove(id);
    if (id === current) openNewChat();
  };
  return (
    <>
      <label className="flex items-center gap-2 rounded-lg border bg-background px-2.5 text-muted-foreground focus-within:border-ring">
        <Search className="size-4 shrink-0" aria-hidden />
        <input
          type="search"
          dir="auto"
          aria-label="Search chats"
          placeholder="Search"
          maxLength={200}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          className="h-8 min-w-0 flex-1 bg-transparent text-sm text-foreground outline-none placeholder:text-muted-foreground"
        />
      </label>
      <ul className="-mx-2 min-h-0 flex-1 overflow-y-auto px-2" aria-label={archived ? "Archived chats" : "Chats"}>
        {chats.map((chat) => (
          <ChatItem
            key={chat.id}
            chat={chat}
            current={chat.id === current}
            onPick={onPick}
            onUpdate={(changes) => void update(chat.id, changes)}
            onDelete={() => void removeAndLeave(chat.id)}
          />
        ))}
        {chats.length === 0 && <li className="px-2.5 py-2 text-sm text-muted-foreground">{nothing(search, archived)}</li>}
        {more && <li key={chats.length} ref={(end) => whenSeen(end, more)} className="h-px" />}
      </ul>
      <Button size="small" look="ghost" className="justify-start" aria-pressed={archived} onClick={() => setArchived(!archived)}>
        {archived ? <ArrowLeft className="size-4 rtl:rotate-180" aria-hidden /> : <Archive className="size-4" aria-hidden />}
        {archived ? "Back to the chats" : "Archived"}
      </Button>
    </>
  );
}

function nothing(search: string, archived: boolean): string {
  if (search) return "No title has this.";
  return archived ? "Nothing is archived." : "No chats yet.";
}

function whenSeen(element: Element | null, act: () => void): () => void {
  const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && act());
  if (element) observer.observe(element);
  return () => observer.disconnect();
}
