import type { UIMessage } from "ai";

export type ListedChat = { id: string; title: string | null; archived: boolean };

const chatPath = (id: string) => `/api/chat/${encodeURIComponent(id)}`;

type MessageVersions = { messageId: string; current: number; ids: string[] };

export type StoredChat = { messages: UIMessage[]; versions?: MessageVersions[] };

/** What the server has stored of a chat; no messages of one that is new. */
export async function loadChat(id: string): Promise<StoredChat> {
  const { error, ...chat } = await (await fetch(chatPath(id))).json();
  if (!chat.messages) throw new Error(error);
  return chat;
}

/** Chooses a version of a message: the chat goes on from there. */
export async function chooseVersion(id: string, version: string): Promise<StoredChat> {
  const headers = { "content-type": "application/json" };
  const chosen = await fetch(`${chatPath(id)}/branch`, { method: "POST", headers, body: JSON.stringify({ version }) });
  return chosen.ok ? chosen.json() : loadChat(id);
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
