import { useChat, type UIMessage } from "@ai-sdk/react";
import { useState } from "react";

type MessageVersions = { messageId: string; current: number; ids: string[] };
type StoredChat = { messages: UIMessage[]; versions?: MessageVersions[] };

export function useVersions(id: string, stored: StoredChat) {
  const chat = useChat({ id, messages: stored.messages });
  const [versions, setVersions] = useState(stored.versions ?? []);
  const choose = async (version: string) => {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ version });
    const response = await fetch(`/api/chat/${id}/branch`, { method: "POST", headers, body });
    if (!response.ok) throw new Error((await response.json()).error);
    const chosen: StoredChat = await response.json();
    chat.setMessages(chosen.messages);
    setVersions(chosen.versions ?? []);
  };
  return { ...chat, versions, choose };
}
