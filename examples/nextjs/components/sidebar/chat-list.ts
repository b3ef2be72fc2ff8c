import { useCallback, useEffect, useRef, useState } from "react";
import { chatPath, useHost } from "../chat/host";
import { noteTitle } from "./chat-titles";

/** Window event: the list may be outdated, because a reply began or ended or a chat was changed. */
export const CHATS_CHANGED = "chats-changed";

const PAGE_SIZE = 30;
/** Milliseconds between two requests for the list while a reply is streaming. */
const LOOK_AGAIN = 3000;
/** Milliseconds without typing before the search starts. */
const TYPING = 200;

export type ListedChat = {
  id: string;
  title: string | null;
  updatedAt: string;
  archived: boolean;
  running: boolean;
  /** True if the agent waits for the user: an approval, an input, a sign-in, or a tool in the browser. */
  waiting: boolean;
};
export type Changes = { title?: string | null; archived?: boolean };
type ChatList = { chats: ListedChat[]; nextCursor: string | null; hasArchived: boolean };

/** The user's chats, newest first; `more` loads the next page. */
export function useChats(search: string, archived: boolean) {
  const { api } = useHost();
  const filter = JSON.stringify([search, archived]);
  const [list, setList] = useState<ChatList & { filter: string }>({ filter, chats: [], nextCursor: null, hasArchived: false });
  const [loaded, setLoaded] = useState(false);
  const [failure, setFailure] = useState<string>();
  const newest = useRef(0); // number of the latest request, because responses may arrive out of order

  const load = useCallback(
    async (cursor: string | null, join: (shown: ChatList, page: ChatList) => ChatList) => {
      const request = ++newest.current;
      const query = new URLSearchParams({ limit: String(PAGE_SIZE), search, archived: String(archived) });
      if (cursor) query.set("cursor", cursor);
      const response = await fetch(`${api}/chats?${query}`).catch(() => undefined);
      if (!response?.ok) return setFailure("The chats could not be loaded.");
      setFailure(undefined);
      setLoaded(true);
      const page: ChatList = await response.json();
      noteTitles(page.chats);
      if (request !== newest.current) return;
      setList((shown) => ({ filter, ...(shown.filter === filter ? join(shown, page) : page) }));
    },
    [api, filter, search, archived],
  );
  const reload = useCallback(() => load(null, onTop), [load]);
  const change = (id: string, to: ListedChat[]) => {
    newest.current++; // ignore responses to earlier requests
    setList((shown) => ({ ...shown, chats: shown.chats.flatMap((chat) => (chat.id === id ? to : [chat])) }));
  };

  useEffect(() => {
    const timer = setTimeout(reload, search ? TYPING : 0);
    return () => clearTimeout(timer);
  }, [reload, search]);
  useEffect(() => {
    const events = [CHATS_CHANGED, "focus"]; // on focus, because other tabs may have changed the chats
    for (const event of events) window.addEventListener(event, reload);
    return () => events.forEach((event) => window.removeEventListener(event, reload));
  }, [reload]);
  const running = list.chats.some((chat) => chat.running);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(reload, LOOK_AGAIN);
    return () => clearInterval(timer);
  }, [running, reload]);

  return {
    chats: list.chats,
    hasArchived: list.hasArchived,
    /** True after the first response: then an empty list means that there are no chats. */
    loaded,
    /** Error of the last request. */
    failure,
    reload: () => void reload(),
    more: list.nextCursor && list.filter === filter ? () => void load(list.nextCursor, atEnd) : undefined,
    update: async (id: string, changes: Changes) => {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify(changes);
      const response = await fetch(chatPath(api, id), { method: "PATCH", headers, body }).catch(() => undefined);
      if (!response?.ok) return setFailure("The chat could not be changed.");
      const changed: ListedChat = await response.json();
      noteTitles([changed]);
      change(id, changed.archived === archived ? [changed] : []);
      if (changed.archived) setList((shown) => ({ ...shown, hasArchived: true }));
    },
    remove: async (id: string) => {
      const response = await fetch(chatPath(api, id), { method: "DELETE" }).catch(() => undefined);
      if (response?.ok) change(id, []);
      else setFailure("The chat could not be deleted.");
      return response?.ok ?? false;
    },
  };
}

function noteTitles(chats: ListedChat[]): void {
  for (const { id, title } of chats) if (title) noteTitle(id, title);
}

/** Replace the first page of the list, and keep the pages below it. */
function onTop(shown: ChatList, page: ChatList): ChatList {
  if (page.nextCursor === null || shown.chats.length <= page.chats.length) return page;
  return { ...page, chats: [...page.chats, ...without(shown.chats, page.chats)], nextCursor: shown.nextCursor };
}

/** Append the next page without duplicates: new chats may have moved the pages since the last request. */
function atEnd(shown: ChatList, page: ChatList): ChatList {
  return { ...page, chats: [...shown.chats, ...without(page.chats, shown.chats)] };
}

function without(chats: ListedChat[], others: ListedChat[]): ListedChat[] {
  const ids = new Set(others.map(({ id }) => id));
  return chats.filter(({ id }) => !ids.has(id));
}
