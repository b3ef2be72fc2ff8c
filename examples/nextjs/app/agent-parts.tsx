import type { About } from "@/components/chat/Welcome";
import { type ClientToolProps, type DataPart } from "@/components/chat/host";
import { CLIENT_TOOLS } from "@/components/demo/client-tools";
import { Forecast } from "@/components/demo/Forecast";
import { allowed } from "@/components/tools/ClientTool";
import type { ChatDataParts, ChatTools, ShoppingList as List } from "@/lib/chat-types";
import type { ComponentType } from "react";

/**
 * What a new chat says of the agent, over what its server says of it: `create_app(agent, suggestions=[…])`. A server
 * without a page says nothing: then name the agent and its suggestions here.
 */
export const ABOUT: About = {};

/** What the agent may do in this page, by the names that it was told with `client_tool(…)`. */
const ownTools = {
  get_time_zone: allowed<ChatTools["get_time_zone"]["output"]>("May the agent know your time zone?", () => ({
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  })),
} satisfies { [Name in keyof ChatTools]?: ComponentType<ClientToolProps> };

/** What draws the parts that the agent sends with `emit_data`. */
const ownParts = {
  "data-shopping-list": ShoppingList,
} satisfies { [Name in keyof ChatDataParts as `data-${Name}`]?: (props: { data: ChatDataParts[Name] }) => unknown };

/** With those of `adk-ui-stream demo`, whose line and folder your app can do without. */
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
