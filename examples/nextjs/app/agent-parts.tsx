import type { ComponentType } from "react";
import type { About } from "@/components/chat/Welcome";
import type { ClientToolProps } from "@/components/chat/host";
import { allowed } from "@/components/tools/ClientTool";
import type { ChatDataParts, ChatTools, ShoppingList as List } from "@/lib/chat-types";

/**
 * The agent's name and suggestions for a new chat. These values override those of the server, which come from
 * `create_app(agent, suggestions=[…])`. Set them if the server does not serve the built-in chat.
 */
export const ABOUT: About = {};

/** The tools that run in the browser. Each key is the name of a `client_tool(…)` of the agent. */
export const clientTools = {
  get_time_zone: allowed<ChatTools["get_time_zone"]["output"]>("May the agent know your time zone?", () => ({
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  })),
} satisfies { [Name in keyof ChatTools]?: ComponentType<ClientToolProps> };

/** The components for data parts, which the agent sends with `emit_data`. */
export const dataParts = {
  "data-shopping-list": ShoppingList,
} satisfies { [Name in keyof ChatDataParts as `data-${Name}`]?: (props: { data: ChatDataParts[Name] }) => unknown };

function ShoppingList({ data: { items } }: { data: List }) {
  if (items.length === 0) return null;
  return (
    <ul
      aria-label="Shopping list"
      className="list-inside list-disc self-start rounded-xl border bg-card px-4 py-3 text-sm"
    >
      {items.map((item, index) => (
        <li key={index}>{item}</li>
      ))}
    </ul>
  );
}
