import { useEffect } from "react";
import { readSetting, useSetting, writeSetting } from "../layout/setting";
import type { ListedChat } from "./chat-list";

const NAME = "waiting-chats";

/**
 * The chats in which the agent waits for the user, by their ids. The server's list does not say so: the browser keeps
 * what its tabs have seen. The value is the `updatedAt` of the list, `null` until the list is loaded.
 */
type Waiting = Record<string, string | null>;

const read = (): Waiting => parsed(readSetting(NAME) ?? "{}");

function parsed(stored: string): Waiting {
  try {
    return JSON.parse(stored) ?? {};
  } catch {
    return {};
  }
}

/** Notes for the list of chats whether the agent waits for the user in this one. */
export function useNoteWaiting(id: string, waits: boolean): void {
  useEffect(() => note(id, waits), [id, waits]);
}

export function note(id: string, waits: boolean): void {
  const { [id]: before, ...others } = read();
  if ((before !== undefined) !== waits) writeSetting(NAME, JSON.stringify(waits ? { ...others, [id]: null } : others));
}

/** Forgets the chats that went on elsewhere since they were seen to wait. */
export function forgetAnswered(listed: ListedChat[]): void {
  const before = read();
  const after = { ...before };
  for (const { id, updatedAt, running } of listed) {
    if (before[id] === null && !running) after[id] = updatedAt;
    else if (before[id] && before[id] !== updatedAt) delete after[id];
  }
  if (JSON.stringify(after) !== JSON.stringify(before)) writeSetting(NAME, JSON.stringify(after));
}

/** Return true if the agent waited for the user when this browser last saw the chat. */
export function useWaits(id: string): boolean {
  return parsed(useSetting(NAME, "{}")[0])[id] !== undefined;
}
