import { useEffect } from "react";
import { type ChatMessage, textOf } from "./message-types";

const LONGEST = 60;

/** Names the tab after the first message of the chat, with a dot before them while the agent answers. */
export function useTabTitle(messages: ChatMessage[], busy: boolean, agent = "ADK chat"): void {
  const first = messages.find(({ role }) => role === "user");
  const text = first && textOf(first).trim().slice(0, LONGEST);
  const title = `${busy ? "● " : ""}${text || agent}`;
  useEffect(() => {
    document.title = title;
  }, [title]);
}
