import { useEffect } from "react";
import { noteFirstMessage, useChatTitle } from "../sidebar/chat-titles";
import { type ChatMessage, textOf } from "./message-types";

const LONGEST = 60;

/** Names the tab after the chat, which has the name of its first message at first. A dot says that the agent answers. */
export function useTabTitle(id: string, messages: ChatMessage[], busy: boolean, agent = "ADK chat"): void {
  const first = messages.find(({ role }) => role === "user");
  const text = first && textOf(first).trim().slice(0, LONGEST);
  useEffect(() => {
    if (text) noteFirstMessage(id, text);
  }, [id, text]);
  const title = `${busy ? "● " : ""}${useChatTitle(id) ?? (text || agent)}`;
  useEffect(() => {
    document.title = title;
  }, [title]);
}
