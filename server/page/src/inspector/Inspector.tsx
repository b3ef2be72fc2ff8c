import type { Chat } from "@ai-sdk/react";
import type { ChatMessage } from "../chat/message-types";

/** How a chat came to be: nothing is drawn yet. */
export default function Inspector(_: { id: string; state: Chat<ChatMessage> }) {
  return null;
}
