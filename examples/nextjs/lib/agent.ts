import "server-only";
import { headers } from "next/headers";
import type { ChatMessage } from "./chat-types";

/** Where the agent's server has this path. Read anew each time: one build serves every environment. */
export function agentUrl(path: string): string {
  return `${(process.env.AGENT_URL ?? "http://127.0.0.1:8000").replace(/\/$/, "")}${path}`;
}

/** What the agent's server has stored of a chat, asked as the user who asks for the page; nothing of a new one. */
export async function storedMessages(id: string): Promise<ChatMessage[]> {
  const asked = await headers();
  const response = await fetch(agentUrl(`/api/chat/${encodeURIComponent(id)}`), {
    cache: "no-store",
    headers: ["authorization", "cookie"].flatMap((name) => {
      const value = asked.get(name);
      return value === null ? [] : [[name, value] satisfies [string, string]];
    }),
  });
  if (response.status === 404) return [];
  if (!response.ok) throw new Error(`The agent's server answers ${response.status}.`);
  return (await response.json()).messages;
}
