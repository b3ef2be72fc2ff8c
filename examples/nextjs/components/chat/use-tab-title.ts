import { useEffect } from "react";
import { noteFirstMessage, useChatTitle } from "../sidebar/chat-titles";
import { type ChatMessage, textOf } from "./message-types";

const LONGEST = 60;

/** Set the tab's title to the chat's title, at first its first message. A dot shows that a reply is streaming. */
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
