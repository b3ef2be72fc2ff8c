"use client";

import { useCallback, useEffect, useRef, useState } from "react";

/** An event of the window: an answer has begun or ended, so that the list of chats may be another. */
export const CHATS_CHANGED = "chats-changed";

const PAGE_SIZE = 30;
const MAX_PAGE_SIZE = 100;
/** Milliseconds between two looks at the list while an answer is being written. */
const LOOK_AGAIN = 3000;
/** Milliseconds that are waited for another letter before the chats are searched. */
const TYPING = 200;

export type ListedChat = { id: string; title: string | null; updatedAt: string; archived: boolean; running: boolean };
export type Changes = { title?: string | null; archived?: boolean };
type ChatList = { chats: ListedChat[]; nextCursor: string | null };

/** The user's chats, newest first; `more` loads the next page. */
export function useChats(search: string, archived: boolean) {
  const filter = JSON.stringify([search, archived]);
  const [list, setList] = useState<ChatList & { filter: string }>({ filter, chats: [], nextCursor: null });
  const newest = useRef(0); // a later request may be answered before an earlier one
  const shown = list.chats.length;

  const load = useCallback(
    async (limit: number, after?: ChatList) => {
      const request = ++newest.current;
      const query = new URLSearchParams({ limit: String(limit), search, archived: String(archived) });
      if (after?.nextCursor) query.set("cursor", after.nextCursor);
      const response = await fetch(`/api/chats?${query}`).catch(() => undefined);
      if (!response?.ok || request !== newest.current) return;
      const page: ChatList = await response.json();
      setList({ filter, ...page, chats: [...(after?.chats ?? []), ...page.chats] });
    },
    [filter, search, archived],
  );
  const reload = useCallback(() => load(Math.min(Math.max(shown, PAGE_SIZE), MAX_PAGE_SIZE)), [load, shown]);

  useEffect(() => {
    const timer = setTimeout(load, search ? TYPING : 0, PAGE_SIZE);
    return () => clearTimeout(timer);
  }, [load, search]);
  useEffect(() => {
    window.addEventListener(CHATS_CHANGED, reload);
    return () => window.removeEventListener(CHATS_CHANGED, reload);
  }, [reload]);
  const running = list.chats.some((chat) => chat.running);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(reload, LOOK_AGAIN);
    return () => clearInterval(timer);
  }, [running, reload]);

  return {
    chats: list.chats,
    more: list.nextCursor && list.filter === filter ? () => void load(PAGE_SIZE, list) : undefined,
    update: async (id: string, changes: Changes) => {
      const headers = { "content-type": "application/json" };
      await fetch(chatPath(id), { method: "PATCH", headers, body: JSON.stringify(changes) }).catch(() => undefined);
      await reload();
    },
    remove: async (id: string) => {
      await fetch(chatPath(id), { method: "DELETE" }).catch(() => undefined);
      await reload();
    },
  };
}

const chatPath = (id: string) => `/api/chat/${encodeURIComponent(id)}`;
