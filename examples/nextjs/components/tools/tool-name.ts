import { getToolName } from "ai";
import { readableName } from "./readable-name";
import type { ToolPart } from "./ToolCard";

/** Labels of ADK's own tools. */
const TITLES: Record<string, string> = { adk_request_credential: "Sign-in", adk_request_input: "Question" };

/** The readable name of the called tool. */
export function nameOf(call: ToolPart): string {
  return call.title ?? TITLES[getToolName(call)] ?? readableName(getToolName(call));
}
