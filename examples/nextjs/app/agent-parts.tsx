import type { About } from "@/components/chat/Welcome";
import { type ClientToolProps, type DataPart } from "@/components/chat/host";
import { allowed } from "@/components/tools/ClientTool";
import type { ChatDataParts, ChatTools, ShoppingList as List } from "@/lib/chat-types";
import type { ComponentType } from "react";

/** What a new chat says of the agent. */
export const ABOUT: About = {
  suggestions: [
    { prompt: "Put milk and tea on my list." },
    { prompt: "What is on my list?" },
    { prompt: "What time is it where I am?" },
    { prompt: "Clear the list." },
  ],
};

/** What the agent may do in this page, by the names that it was told with `client_tool(…)`. */
export const clientTools = {
  get_time_zone: allowed<ChatTools["get_time_zone"]["output"]>("May the agent know your time zone?", () => ({
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  })),
} satisfies { [Name in keyof ChatTools]?: ComponentType<ClientToolProps> };

/** What draws the parts that the agent sends with `emit_data`. */
export const dataParts: Record<string, DataPart> = {
  "data-shopping-list": ShoppingList,
} satisfies { [Name in keyof ChatDataParts as `data-${Name}`]?: (props: { data: ChatDataParts[Name] }) => unknown };

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
