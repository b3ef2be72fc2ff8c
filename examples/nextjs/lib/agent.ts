import "server-only";
import { headers } from "next/headers";
import { connection } from "next/server";
import type { StoredChat } from "./chat-types";

const AGENT_URL = "http://127.0.0.1:8000";

/** The URL of a path on the agent's server. `AGENT_URL` is read at each call, so one build serves every environment. */
export function agentUrl(path: string): string {
  return `${(process.env.AGENT_URL ?? AGENT_URL).replace(/\/$/, "")}${path}`;
}

/** The agent's server can't be reached. */
export class AgentAway extends Error {}

/** Error text for the log, and for the page during development. */
export function unreachable(): string {
  return `No agent at ${agentUrl("")}. Start one, such as: adk-ui-stream demo. Or set AGENT_URL.`;
}

/** Load a stored chat as the current user. Returns nothing for a new chat. */
export async function storedChat(id: string): Promise<StoredChat & { missing?: boolean }> {
  const response = await askAgent(`/api/chat/${encodeURIComponent(id)}`);
  if (response.status === 404) return { messages: [], missing: true };
  if (!response.ok) throw new Error(`The agent's server answers ${response.status}.`);
  return response.json();
}

/** Send a request to the agent's server as the current user. */
export async function askAgent(path: string): Promise<Response> {
  await connection(); // wait for the request: `fetch` reads the clock, which Next.js forbids during prerendering
  const asked = await headers();
  const passed = ["authorization", "cookie"].flatMap((name) => {
    const value = asked.get(name);
    return value === null ? [] : [[name, value] satisfies [string, string]];
  });
  try {
    return await fetch(agentUrl(path), { cache: "no-store", headers: passed });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // Next.js uses its own errors to stop a render
    console.error(unreachable());
    throw new AgentAway();
  }
}
