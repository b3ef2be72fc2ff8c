"use client";

import { Chat } from "@/components/chat/Chat";
import type { ChatMessage } from "@/lib/chat-types";
import { ABOUT } from "../../agent-parts";

/** The chat, as the server has stored it. A new chat has nothing to resume. */
export function StoredChat({ id, messages }: { id: string; messages: ChatMessage[] }) {
  return <Chat key={id} id={id} messages={messages} about={ABOUT} resume={messages.length > 0} />;
}
