import { DefaultChatTransport } from "ai";
import type { ChatMessage } from "./chat-message";

/**
 * Sends the one message that a request is about: the server has the others, and their files. So a request stays small
 * however long the chat becomes.
 */
export function lastMessageTransport(body: () => object) {
  return new DefaultChatTransport<ChatMessage>({
    api: "/api/chat",
    body,
    prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => ({
      body: { ...body, id, trigger, messageId, message: messages.find(({ id }) => id === messageId) ?? messages.at(-1) },
    }),
  });
}
