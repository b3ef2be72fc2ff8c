import type { ChatTools } from "./chat-types";

type PageTools = { [Name in keyof ChatTools]?: { question: string; run: () => ChatTools[Name]["output"] } };

/** What the agent may do in this page, by the names that it was told with `client_tool(…)`. */
export const PAGE_TOOLS = {
  get_time_zone: {
    question: "May the agent know your time zone?",
    run: () => ({ timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone }),
  },
} satisfies PageTools;

export type PageTool = keyof typeof PAGE_TOOLS;

export function isPageTool(name: string): name is PageTool {
  return Object.hasOwn(PAGE_TOOLS, name);
}
