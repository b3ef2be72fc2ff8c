import { getToolName } from "ai";
import { readableName } from "./readable-name";
import type { ToolPart } from "./ToolCard";

/** What ADK calls its own ways to ask. */
const TITLES: Record<string, string> = { adk_request_credential: "Sign-in", adk_request_input: "Question" };

/** The name of the called tool for readers. */
export function nameOf(call: ToolPart): string {
  return call.title ?? TITLES[getToolName(call)] ?? readableName(getToolName(call));
}
