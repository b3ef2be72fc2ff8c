import type { ChatMessage } from "./message-types";

/** What the server has stored of the chat; nothing if it has none, or can't be asked. */
export async function loadHistory(id: string): Promise<ChatMessage[]> {
  try {
    const response = await fetch(`api/chat/${encodeURIComponent(id)}`);
    return response.ok ? (await response.json()).messages : [];
  } catch {
    return [];
  }
}
