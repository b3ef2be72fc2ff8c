import { useEffect, useSyncExternalStore } from "react";

/** The ids of the chats in which the agent waits for the user. The server's list does not say so: this page saw it. */
const waiting = new Set<string>();
const listeners = new Set<() => void>();

/** Notes for the list of chats whether the agent waits for the user in this one. */
export function useNoteWaiting(id: string, waits: boolean): void {
  useEffect(() => {
    if (waiting.has(id) === waits) return;
    if (waits) waiting.add(id);
    else waiting.delete(id);
    for (const listener of listeners) listener();
  }, [id, waits]);
}

/** Return true if the agent waited for the user when this page last saw the chat. */
export function useWaits(id: string): boolean {
  return useSyncExternalStore(subscribe, () => waiting.has(id), () => false);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
