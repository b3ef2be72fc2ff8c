import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from "ai";
import type { ChatMessage } from "./chat-types";

/**
 * Sends the one message that a request is about: the server has the others, and their files. So a request stays small
 * however long the chat becomes.
 */
export const lastMessageTransport = new DefaultChatTransport<ChatMessage>({
  api: "/api/chat",
  prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => ({
    body: {
      ...body,
      id,
      trigger,
      messageId,
      message: messages.find(({ id }) => id === messageId) ?? messages.at(-1),
    },
  }),
});

/** True once each call of the last step that waited for the user has its answer: then all of them are sent. */
export function isAnswered(chat: { messages: ChatMessage[] }): boolean {
  return (
    lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat)
  );
}
