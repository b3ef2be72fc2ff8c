import { useSyncExternalStore } from "react";

/** The known titles of chats, by chat id. */
const titles = new Map<string, string>();
const listeners = new Set<() => void>();

/** Store the title that the server has for a chat. */
export function noteTitle(id: string, title: string): void {
  if (titles.get(id) === title) return;
  titles.set(id, title);
  for (const listener of listeners) listener();
}

/** Use the first message as the title until the server sends one. */
export function noteFirstMessage(id: string, text: string): void {
  if (!titles.has(id)) noteTitle(id, text);
}

/** The title of a chat. `undefined` before the first message. */
export function useChatTitle(id: string): string | undefined {
  return useSyncExternalStore(subscribe, () => titles.get(id), () => undefined);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
