import { useSyncExternalStore } from "react";

/** The titles of the chats that this page has seen, by their ids. */
const titles = new Map<string, string>();
const listeners = new Set<() => void>();

/** Notes the title that the server has for a chat. */
export function noteTitle(id: string, title: string): void {
  if (titles.get(id) === title) return;
  titles.set(id, title);
  for (const listener of listeners) listener();
}

/** Notes the first message of a chat that the list has not named yet. */
export function noteFirstMessage(id: string, text: string): void {
  if (!titles.has(id)) noteTitle(id, text);
}

/** The title of a chat; `undefined` before anything is said. */
export function useChatTitle(id: string): string | undefined {
  return useSyncExternalStore(subscribe, () => titles.get(id), () => undefined);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
