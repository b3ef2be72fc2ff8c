import { tabStorage } from "../composer/tab-storage";
import type { Queued } from "./use-queue";

/** Read the queued messages that this tab has stored for the chat. */
export function keptQueue(chatId: string): Queued[] {
  try {
    const kept: Queued[] = JSON.parse(tabStorage()?.getItem(place(chatId)) ?? "[]");
    // Send the message again if its response was lost. The server recognizes the id of a message that it has.
    return kept.map((message) => (message.state === "steering" ? { ...message, state: "waiting" } : message));
  } catch {
    return [];
  }
}

/** Store the messages. If the browser's storage is full, drop their files and count the dropped files. */
export function keepQueue(chatId: string, queued: Queued[]): void {
  const storage = tabStorage();
  if (queued.length === 0) return storage?.removeItem(place(chatId));
  const light = () => queued.map(withoutFiles).filter(({ draft }) => draft.text !== "");
  for (const messages of [() => queued, light]) {
    try {
      return storage?.setItem(place(chatId), JSON.stringify(messages()));
    } catch {
      storage?.removeItem(place(chatId)); // otherwise an older queue would reappear
    }
  }
}

function withoutFiles(message: Queued): Queued {
  const { text, files } = message.draft;
  return { ...message, draft: { text, files: [] }, lostFiles: (message.lostFiles ?? 0) + files.length };
}

function place(chatId: string): string {
  return `queue ${chatId}`;
}
