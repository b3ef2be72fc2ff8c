import "server-only";
import type { About, Suggestion } from "@/components/chat/Welcome";
import { AgentAway, askAgent } from "./agent";

/** Load the facts about the agent. Returns `{}` if the server does not serve the built-in chat or cannot be reached. */
export async function aboutAgent(): Promise<About> {
  try {
    const response = await askAgent("/page.json");
    if (!response.ok) return {};
    const about: About & { suggestions?: (string | Suggestion)[] } = await response.json();
    const suggestions = about.suggestions?.map((each) => (typeof each === "string" ? { prompt: each } : each));
    return { ...about, ...(suggestions && { suggestions }) };
  } catch (error) {
    if (!(error instanceof AgentAway)) throw error;
    return {};
  }
}
