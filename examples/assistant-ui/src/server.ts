import type { UIMessage } from "ai";

export type ListedChat = { id: string; title: string | null; archived: boolean };

const chatPath = (id: string) => `/api/chat/${encodeURIComponent(id)}`;

/** What the server has stored of a chat; nothing of one that is new. */
export async function loadMessages(id: string): Promise<UIMessage[]> {
  const { messages, error } = await (await fetch(chatPath(id))).json();
  if (!messages) throw new Error(error);
  return messages;
}

/** The newest chats, then the newest of the archived ones. */
export async function listChats(): Promise<ListedChat[]> {
  const lists = await Promise.all([false, true].map((archived) => fetch(`/api/chats?limit=50&archived=${archived}`)));
  return (await Promise.all(lists.map(async (list) => (list.ok ? (await list.json()).chats : [])))).flat();
}

export async function updateChat(id: string, changes: { title?: string | null; archived?: boolean }): Promise<void> {
  const headers = { "content-type": "application/json" };
  await fetch(chatPath(id), { method: "PATCH", headers, body: JSON.stringify(changes) });
}

export async function deleteChat(id: string): Promise<void> {
  await fetch(chatPath(id), { method: "DELETE" });
}

/** Ends what the server does in a chat. */
export async function stopRun(id: string): Promise<void> {
  await fetch(`${chatPath(id)}/stop`, { method: "POST" }).catch(() => undefined);
}
