import type { ChatMessage } from "./chat-types";

export type ListedChat = { id: string; title: string };

const chatPath = (id: string) => `/api/chat/${encodeURIComponent(id)}`;

/** What the server has stored of a chat; nothing of one that is new. */
export async function loadMessages(id: string): Promise<ChatMessage[]> {
  const { messages, error } = await (await fetch(chatPath(id))).json();
  if (!messages) throw new Error(error);
  return messages;
}

export async function listChats(): Promise<ListedChat[]> {
  const response = await fetch("/api/chats?limit=50");
  return response.ok ? (await response.json()).chats : [];
}

export async function deleteChat(id: string): Promise<void> {
  await fetch(chatPath(id), { method: "DELETE" });
}

/** Ends what the server does in a chat. */
export async function stopRun(id: string): Promise<void> {
  await fetch(`${chatPath(id)}/stop`, { method: "POST" }).catch(() => undefined);
}
