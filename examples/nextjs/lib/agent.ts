import "server-only";
import { headers } from "next/headers";
import { connection } from "next/server";
import type { StoredChat } from "./chat-types";

const AGENT_URL = "http://127.0.0.1:8000";

/** Where the agent's server has this path. Read anew each time: one build serves every environment. */
export function agentUrl(path: string): string {
  return `${(process.env.AGENT_URL ?? AGENT_URL).replace(/\/$/, "")}${path}`;
}

/** The agent's server can't be reached. */
export class AgentAway extends Error {}

/** A sentence for the log, and for the page while it is developed. */
export function unreachable(): string {
  return `No agent at ${agentUrl("")}. Start one, such as: adk-ui-stream demo. Or set AGENT_URL.`;
}

/** What the agent's server has stored of a chat, asked as the user who asks for the page; nothing of a new one. */
export async function storedChat(id: string): Promise<StoredChat & { missing?: boolean }> {
  const response = await askAgent(`/api/chat/${encodeURIComponent(id)}`);
  if (response.status === 404) return { messages: [], missing: true };
  if (!response.ok) throw new Error(`The agent's server answers ${response.status}.`);
  return response.json();
}

/** Asks the agent's server, as the user who asks for the page. */
export async function askAgent(path: string): Promise<Response> {
  await connection(); // `fetch` of Node.js reads the clock when a response ends: Next.js allows this only at request time
  const asked = await headers();
  const passed = ["authorization", "cookie"].flatMap((name) => {
    const value = asked.get(name);
    return value === null ? [] : [[name, value] satisfies [string, string]];
  });
  try {
    return await fetch(agentUrl(path), { cache: "no-store", headers: passed });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // Next.js ends what it renders by errors of its own
    console.error(unreachable());
    throw new AgentAway();
  }
}
