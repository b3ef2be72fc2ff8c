import type { About } from "@/components/chat/Welcome";
import { type ClientToolProps, type DataPart } from "@/components/chat/host";
import { CLIENT_TOOLS } from "@/components/demo/client-tools";
import { Forecast } from "@/components/demo/Forecast";
import { allowed } from "@/components/tools/ClientTool";
import type { ChatDataParts, ChatTools, ShoppingList as List } from "@/lib/chat-types";
import type { ComponentType } from "react";

/**
 * The agent's name and suggestions for a new chat. These values override those of the server, which come from
 * `create_app(agent, suggestions=[…])`. Set them if the server does not serve the built-in chat.
 */
export const ABOUT: About = {};

/** The tools that run in the browser. Each key is the name of a `client_tool(…)` of the agent. */
const ownTools = {
  get_time_zone: allowed<ChatTools["get_time_zone"]["output"]>("May the agent know your time zone?", () => ({
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  })),
} satisfies { [Name in keyof ChatTools]?: ComponentType<ClientToolProps> };

/** The components for data parts, which the agent sends with `emit_data`. */
const ownParts = {
  "data-shopping-list": ShoppingList,
} satisfies { [Name in keyof ChatDataParts as `data-${Name}`]?: (props: { data: ChatDataParts[Name] }) => unknown };

/** Your tools and renderers, and those of `adk-ui-stream demo`. To drop the demo, delete its lines and its folder. */
export const clientTools: Record<string, ComponentType<ClientToolProps>> = { ...CLIENT_TOOLS, ...ownTools };
export const dataParts: Record<string, DataPart> = { "data-weather": Forecast, ...ownParts };

function ShoppingList({ data: { items } }: { data: List }) {
  if (items.length === 0) return null;
  return (
    <ul aria-label="Shopping list" className="list-inside list-disc self-start rounded-xl border bg-card px-4 py-3 text-sm">
      {items.map((item, index) => (
        <li key={index}>{item}</li>
      ))}
    </ul>
  );
}
