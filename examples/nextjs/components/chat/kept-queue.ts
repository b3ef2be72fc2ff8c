import { tabStorage } from "../composer/tab-storage";
import type { Queued } from "./use-queue";

/** The queued messages of a chat, as this tab has kept them over a reload or a look at another chat. */
export function keptQueue(chatId: string): Queued[] {
  try {
    const kept: Queued[] = JSON.parse(tabStorage()?.getItem(place(chatId)) ?? "[]");
    // The response to a message on its way was lost. If the server has the message, it knows it by its id.
    return kept.map((message) => (message.state === "steering" ? { ...message, state: "waiting" } : message));
  } catch {
    return [];
  }
}

/** Keeps the messages. Their files are dropped, with a note, where the browser has no room for them. */
export function keepQueue(chatId: string, queued: Queued[]): void {
  const storage = tabStorage();
  if (queued.length === 0) return storage?.removeItem(place(chatId));
  const light = () => queued.map(withoutFiles).filter(({ draft }) => draft.text !== "");
  for (const messages of [() => queued, light]) {
    try {
      return storage?.setItem(place(chatId), JSON.stringify(messages()));
    } catch {
      storage?.removeItem(place(chatId)); // an older queue would come back
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
