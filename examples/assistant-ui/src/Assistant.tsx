import { useChat } from "@ai-sdk/react";
import { AssistantRuntimeProvider } from "@assistant-ui/react";
import { useAISDKRuntime } from "@assistant-ui/react-ai-sdk";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";
import { useState } from "react";
import { Chats, useChats } from "./Chats";
import { type StoredChat, stopRun } from "./server";
import { Thread } from "./Thread";
import { useVersions } from "./Versions";

/** True once each call of the last step that waited for the user has its answer: then all of them are sent. */
const isAnswered = (chat: { messages: UIMessage[] }) =>
  lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat);

/**
 * Sends what a request is about. The earlier messages go as their ids alone: the server has them and their files, and
 * sees by the ids which of them an edit has cut off (`truncated-history = "rewind"` for `serve`).
 */
const newTransport = () =>
  new DefaultChatTransport({
    api: "/api/chat",
    prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => ({
      body: {
        ...body,
        id,
        trigger,
        messageId,
        messages: messages.map((message) =>
          message === messages.at(-1) || message.id === messageId ? message : { ...message, parts: [] },
        ),
      },
    }),
  });

export function Assistant({ id, messages, versions = [] }: StoredChat & { id: string }) {
  const [transport] = useState(newTransport);
  const chats = useChats(id);
  const chat = useChat({
    id,
    messages,
    transport,
    resume: messages.length > 0, // a new chat has nothing to resume
    sendAutomaticallyWhen: isAnswered,
    onFinish: () => {
      void chats.reload();
      void reloadVersions();
    },
  });
  /** `stop()` of the AI SDK only leaves, as a reload does: the server is asked to end what it does. */
  const stop = async () => {
    await stopRun(id);
    await chat.stop();
  };
  const runtime = useAISDKRuntime({ ...chat, stop }, { adapters: { threadList: chats.adapter } });
  const reloadVersions = useVersions(id, versions, runtime, chat);
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <div className="app">
        <Chats />
        <Thread error={chat.error} onRetry={() => void chat.regenerate()} />
        <p className="status" role="status" data-status={chat.status}>
          {chat.status === "submitted" || chat.status === "streaming" ? "The agent is answering." : ""}
        </p>
      </div>
    </AssistantRuntimeProvider>
  );
}
