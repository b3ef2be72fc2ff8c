import { Chat as ChatState, useChat } from "@ai-sdk/react";
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from "ai";
import { useCallback, useEffect, useRef, useState } from "react";
import { CHATS_CHANGED } from "../sidebar/chat-list";
import type { OnApproval } from "../tools/Approval";
import type { OnOutput } from "../tools/Answer";
import { chatTransport, stopRun } from "./chat-api";
import { Connection, type ConnectionState } from "./connection";
import { GivenAnswers } from "./given-answers";
import { useHost } from "./host";
import { type ChatMessage, type Draft, filesOf, type Outcome, outcomesOf, type StoredChat } from "./message-types";
import { useVersions } from "./use-versions";

/** True when each pending call of the last step has an approval, a denial or an output. */
function isAnswered(chat: { messages: ChatMessage[] }): boolean {
  return (
    lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat)
  );
}

const LOST = new Error(
  "The connection was lost in the middle of the reply. Retry shows the rest if the server has it, or asks again.",
);

export type AgentChat = ReturnType<typeof useAgentChat>;

type AgentChatOptions = {
  id: string;
  /** The chat as it was loaded. */
  stored: StoredChat;
  /** True if a reply may be streaming, so the chat tries to resume it. */
  resume: boolean;
  /** Called when a message is sent. */
  onSend?: ((id: string) => void) | undefined;
};

/** The state of a chat and its actions. */
export function useAgentChat({ id, stored, resume, onSend }: AgentChatOptions) {
  const { api } = useHost();
  const [connectionState, showConnection] = useState<ConnectionState>("open");
  const [outcomes, setOutcomes] = useState(() => outcomesOf(stored));
  const [{ state, payloads, drafts, given, connection, showStored, mark }] = useState(() => {
    const payloads: Record<string, unknown> = {};
    const drafts = new Map<string, unknown>();
    const given = new GivenAnswers();
    const mark = (id: string, outcome: Outcome | undefined) =>
      setOutcomes((before) => {
        const after = new Map(before);
        if (outcome === undefined) after.delete(id);
        else after.set(id, outcome);
        return after;
      });
    const showStored = (chat: StoredChat) => {
      state.messages = chat.messages;
      setOutcomes(outcomesOf(chat));
    };
    const connection = new Connection(api, showConnection, showStored);
    let ended: { outcome: Outcome | undefined } | undefined; // set by the last chunk of the response
    const onAccepted = () => {
      drafts.clear();
      given.settle();
    };
    // Own chat object: with only a transport, `useChat` of v6 does not reset a message whose response is resumed.
    const state = new ChatState<ChatMessage>({
      id,
      messages: stored.messages,
      transport: chatTransport(api, payloads, {
        onAccepted,
        onBegin: () => connection.begin(),
        onEnd: (outcome) => (ended = { outcome }),
      }),
      sendAutomaticallyWhen: isAnswered,
      onFinish: ({ message, isDisconnect }) => {
        if (ended) mark(message.id, ended.outcome);
        ended = undefined;
        connection.end(isDisconnect, state);
      },
      onError: () => given.takeBack(state),
    });
    return { state, payloads, drafts, given, connection, showStored, mark };
  });
  const chat = useChat<ChatMessage>({ chat: state, resume, experimental_throttle: 30 });
  const { sendMessage, addToolApprovalResponse, addToolOutput } = chat;
  const { noteReplaced, ...versions } = useVersions(state, chat.status, stored.versions, showStored);
  useEffect(() => () => connection.cancel(), [connection]);
  const told = useRef(chat.status);
  useEffect(() => {
    if (told.current === chat.status) return; // the list loads by itself when the page opens
    told.current = chat.status;
    window.dispatchEvent(new Event(CHATS_CHANGED));
  }, [chat.status]);

  /** Mark the streaming reply, if any, as interrupted. */
  const markStopped = useCallback(() => {
    const last = state.messages.at(-1);
    const busy = connection.isReconnecting || state.status === "submitted" || state.status === "streaming";
    if (!busy || last?.role !== "assistant") return;
    mark(last.id, { type: "stopped" });
  }, [state, connection, mark]);

  const [starting, setStarting] = useState(0);
  /**
   * Send a message. If a reply is streaming, the server stops its run and replies to this message. `newId`: the id of
   * the message, if it already has one.
   */
  const send = useCallback(
    async ({ text, files }: Draft, messageId?: string, newId?: string) => {
      markStopped();
      connection.cancel();
      setStarting((count) => count + 1); // busy until the request begins: the queue must not send its next message too
      await state.stop();
      given.settle();
      if (messageId !== undefined) noteReplaced();
      onSend?.(id);
      const words = text === "" ? [] : [{ type: "text" as const, text }];
      const answered =
        newId !== undefined
          ? sendMessage({ id: newId, role: "user", parts: [...files, ...words] })
          : sendMessage(messageId === undefined ? { text, files } : { text, files, messageId });
      setStarting((count) => count - 1);
      await answered;
    },
    [id, state, given, connection, sendMessage, markStopped, noteReplaced, onSend],
  );
  const edit = useCallback(
    (messageId: string, text: string) => {
      const edited = state.messages.find((message) => message.id === messageId);
      void send({ text, files: edited ? filesOf(edited) : [] }, messageId);
    },
    [state, send],
  );
  const stop = useCallback(async () => {
    markStopped();
    connection.cancel();
    state.clearError();
    await stopRun(api, id);
    await state.stop();
  }, [api, id, state, connection, markStopped]);
  const regenerate = useCallback(
    (options?: { messageId: string }) => {
      noteReplaced();
      return state.regenerate(options);
    },
    [state, noteReplaced],
  );
  const retry = useCallback(
    () => given.giveAgain(state) || void (connection.canBeTakenUp ? connection.retry(state) : regenerate()),
    [connection, state, given, regenerate],
  );
  const approve: OnApproval = useCallback(
    (answer, payload) => {
      // eslint-disable-next-line react-hooks/immutability -- the transport reads the payloads when it sends
      if (payload === undefined) delete payloads[answer.id];
      else payloads[answer.id] = payload;
      given.give(state, () => void addToolApprovalResponse(answer));
    },
    [state, payloads, given, addToolApprovalResponse],
  );
  const output: OnOutput = useCallback(
    (answer) => given.give(state, () => void addToolOutput(answer)),
    [state, given, addToolOutput],
  );
  const reconnecting = connectionState === "reconnecting";
  const busy = reconnecting || starting > 0 || chat.status === "submitted" || chat.status === "streaming";
  const lost = connectionState === "lost" ? LOST : chat.error;
  const clearError = useCallback(() => {
    connection.cancel();
    state.clearError();
  }, [connection, state]);
  return {
    ...chat,
    error: reconnecting ? undefined : lost,
    clearError,
    connection: connectionState,
    ...versions,
    regenerate,
    state,
    payloads,
    drafts,
    outcomes,
    showStored,
    busy,
    send,
    edit,
    stop,
    retry,
    approve,
    output,
  };
}
