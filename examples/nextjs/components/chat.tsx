"use client";

import "@/lib/without-eval";
import { Chat as ChatState, useChat } from "@ai-sdk/react";
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ChatMessage } from "@/lib/chat-message";
import { CHATS_CHANGED } from "@/lib/chats";
import { lastMessageTransport } from "@/lib/transport";
import { AnswersContext, type Decide } from "./answers";
import { Composer, type Draft } from "./composer";
import { Conversation } from "./conversation";
import { Message } from "./message";
import { Problem } from "./problem";

/** True once each call of the last step that waited for the user has its answer: then all of them are sent. */
const isAnswered = (chat: { messages: ChatMessage[] }) =>
  lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat);

export function Chat({ id, messages: stored }: { id: string; messages: ChatMessage[] }) {
  const path = `/api/chat/${encodeURIComponent(id)}`;
  const payloads = useRef<Record<string, unknown>>({}); // what approved calls get, by the approval's id
  const disconnected = useRef(false);
  const field = useRef<HTMLTextAreaElement>(null);
  // A state of our own: with a mere transport `useChat` of v6 forgets that a resumed response begins anew.
  const [state] = useState(
    () =>
      new ChatState<ChatMessage>({
        id,
        messages: stored,
        transport: lastMessageTransport(() => ({ approvalPayloads: payloads.current })),
        sendAutomaticallyWhen: isAnswered,
        onFinish: ({ isDisconnect }) => {
          disconnected.current = isDisconnect;
        },
      }),
  );
  const resume = stored.length > 0; // a new chat has nothing to resume
  const chat = useChat({ chat: state, resume, experimental_throttle: 40 });
  const { messages, status, error, addToolApprovalResponse, addToolOutput, sendMessage, regenerate } = chat;
  const busy = status === "submitted" || status === "streaming";
  useEffect(() => void window.dispatchEvent(new Event(CHATS_CHANGED)), [status]);

  /** Words that come in the middle of an answer end it: the server stops what runs, and answers them. */
  const send = async ({ text, files }: Draft) => {
    await state.stop();
    await sendMessage({ text, files });
  };
  const edit = useCallback(
    async (messageId: string, text: string) => {
      await state.stop();
      const files = state.messages.find(({ id }) => id === messageId)?.parts.filter((part) => part.type === "file");
      await sendMessage({ messageId, text, files });
    },
    [state, sendMessage],
  );
  /** `stop()` of the AI SDK only leaves, as a reload does: the server is asked to end what it does. */
  const stop = async () => {
    field.current?.focus();
    await fetch(`${path}/stop`, { method: "POST" }).catch(() => undefined);
    await state.stop();
  };
  /** Takes up an answer whose connection broke, or what became of it; asks anew for one that never began. */
  const retry = async () => {
    if (!disconnected.current) return regenerate();
    const shown = state.messages;
    await state.resumeStream();
    if (state.messages !== shown || state.error) return;
    const response = await fetch(path);
    const now: ChatMessage[] = response.ok ? (await response.json()).messages : [];
    if (now.length < shown.length) return regenerate();
    state.messages = now;
  };

  const decide: Decide = useCallback(
    (answer, payload) => {
      if (payload !== undefined) payloads.current[answer.id] = payload;
      void addToolApprovalResponse(answer);
      field.current?.focus(); // the button that had it is gone
    },
    [addToolApprovalResponse],
  );
  const answers = useMemo(() => ({ decide, addToolOutput }), [decide, addToolOutput]);

  return (
    <AnswersContext value={answers}>
      <Conversation busy={busy} empty={messages.length === 0}>
        {messages.map((message, index) => (
          <Message
            key={message.id}
            message={message}
            last={index === messages.length - 1}
            busy={busy}
            onEdit={edit}
            onRegenerate={regenerate}
          />
        ))}
        {status === "submitted" && <p className="animate-pulse text-sm text-muted-foreground">Waiting for the agent…</p>}
        {error && <Problem text={error.message || "Something went wrong."} onRetry={retry} onDismiss={chat.clearError} />}
      </Conversation>
      <Composer field={field} busy={busy} onSend={send} onStop={stop} />
      <p className="sr-only" role="status" data-status={status}>
        {busy ? "The agent is answering." : ""}
      </p>
    </AnswersContext>
  );
}
