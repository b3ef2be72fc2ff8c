import type { UIMessage } from "ai";
import { redirect } from "next/navigation";
import { ChatView } from "./chat-view";

const AGENT_URL = process.env.AGENT_URL ?? "http://127.0.0.1:8000";

/** What the server has stored of a chat; nothing of one that is new. */
async function storedMessages(id: string): Promise<UIMessage[]> {
  const response = await fetch(`${AGENT_URL}/api/chat/${encodeURIComponent(id)}`, { cache: "no-store" });
  if (response.status === 404) return [];
  if (!response.ok) throw new Error(`The agent's server answers ${response.status}.`);
  return (await response.json()).messages;
}

/** The chat's id is in the address, so that a reload and a second tab find the chat. */
export default async function Page({ searchParams }: { searchParams: Promise<{ id?: string }> }) {
  const { id } = await searchParams;
  if (!id) redirect(`/?id=${crypto.randomUUID()}`);
  return <ChatView key={id} id={id} messages={await storedMessages(id)} />;
}
