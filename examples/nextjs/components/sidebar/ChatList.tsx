import { Archive, ArrowLeft, Search } from "lucide-react";
import { type FocusEvent, type KeyboardEvent, useState } from "react";
import { useHost } from "../chat/host";
import { Button } from "../ui/button";
import { ChatItem } from "./ChatItem";
import { type ListedChat, useChats } from "./chat-list";

/** The chats, with a search by title and a list of archived chats. The next page loads on scroll. */
export function ChatList({ current, onPick }: { current: string; onPick: () => void }) {
  const { openNewChat } = useHost();
  const [search, setSearch] = useState("");
  const [archived, setArchived] = useState(false);
  const { chats, hasArchived, loaded, failure, more, reload, update, remove } = useChats(search.trim(), archived);
  const [focused, setFocused] = useState<string>();
  const stop = [focused, current].find((id) => chats.some((chat) => chat.id === id)) ?? chats[0]?.id;
  const removeAndLeave = async (id: string) => {
    if ((await remove(id)) && id === current) openNewChat();
  };
  return (
    <>
      <label className="flex items-center gap-2 rounded-lg border bg-background px-2.5 text-muted-foreground focus-within:border-ring">
        <Search className="size-4 shrink-0" aria-hidden />
        <input
          type="search"
          dir="auto"
          aria-label="Search titles"
          placeholder="Search titles"
          maxLength={200}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          className="h-8 min-w-0 flex-1 [&::-webkit-search-cancel-button]:appearance-none bg-transparent text-sm text-foreground outline-none placeholder:text-muted-foreground"
        />
      </label>
      {failure !== undefined && (
        <p role="alert" className="px-2.5 py-1 text-sm text-destructive">
          {failure}{" "}
          <button type="button" className="font-medium underline underline-offset-2" onClick={reload}>
            Reload
          </button>
        </p>
      )}
      <div
        className="-mx-2 min-h-0 flex-1 overflow-y-auto px-2"
        onFocus={(event) => setFocused(chatOf(event))}
        onKeyDown={moveFocus}
      >
        {byDate(chats).map(([day, ofThatDay]) => (
          <section key={day} aria-label={day} className="mb-3">
            <p className="px-2.5 py-1 text-xs font-medium text-muted-foreground" aria-hidden>
              {day}
            </p>
            <ul>
              {ofThatDay.map((chat) => (
                <ChatItem
                  key={chat.id}
                  chat={failure === undefined ? chat : { ...chat, running: false }}
                  current={chat.id === current}
                  tabStop={chat.id === stop}
                  onPick={onPick}
                  onUpdate={(changes) => void update(chat.id, changes)}
                  onDelete={() => void removeAndLeave(chat.id)}
                />
              ))}
            </ul>
          </section>
        ))}
        {loaded && chats.length === 0 && failure === undefined && (
          <p className="px-2.5 py-2 text-sm text-muted-foreground">{nothing(search, archived)}</p>
        )}
        {more && <div key={chats.length} ref={(end) => whenSeen(end, more)} className="h-px" />}
      </div>
      {(archived || hasArchived) && (
        <Button size="small" look="ghost" className="justify-start" aria-pressed={archived} onClick={() => setArchived(!archived)}>
          {archived ? <ArrowLeft className="size-4 rtl:rotate-180" aria-hidden /> : <Archive className="size-4" aria-hidden />}
          {archived ? "Back to the chats" : "Archived"}
        </Button>
      )}
    </>
  );
}

/** The id of the focused chat. */
function chatOf(event: FocusEvent<HTMLElement>): string | undefined {
  return event.target.closest<HTMLElement>("[data-chat]")?.dataset["chat"];
}

/** Keyboard control: the list is one tab stop. The arrow keys, Home and End move the focus between chats. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-chat] > a")];
  const at = links.indexOf(event.target as HTMLElement);
  const targets: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 };
  const target = at < 0 ? undefined : links[targets[event.key] ?? -1];
  if (!target) return;
  event.preventDefault();
  target.focus();
}

/** The chats by the day on which they were last used. */
function byDate(chats: ListedChat[]): [string, ListedChat[]][] {
  if (chats.length === 0) return []; // Next.js prerenders this empty list, and forbids the current time there
  const today = new Date().setHours(0, 0, 0, 0);
  const days = new Map<string, ListedChat[]>();
  for (const chat of chats) {
    const age = Math.ceil((today - Date.parse(chat.updatedAt)) / 86_400_000);
    const day = age <= 0 ? "Today" : age === 1 ? "Yesterday" : age <= 7 ? "Previous 7 days" : "Older";
    days.set(day, [...(days.get(day) ?? []), chat]);
  }
  return [...days];
}

function nothing(search: string, archived: boolean): string {
  if (search) return "No chats found.";
  return archived ? "Nothing is archived." : "No chats yet.";
}

function whenSeen(element: Element | null, act: () => void): () => void {
  const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && act());
  if (element) observer.observe(element);
  return () => observer.disconnect();
}
