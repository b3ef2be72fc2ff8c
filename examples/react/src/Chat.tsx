import { useChat } from "@ai-sdk/react";
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from "ai";
import { useRef } from "react";
import type { ChatMessage } from "./chat-types";
import { Composer } from "./Composer";
import { Message } from "./Message";

/** True once each call of the last step that waited for the user has its answer: then all of them are sent. */
const isAnswered = (chat: { messages: ChatMessage[] }) =>
  lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat);

/** Nothing here is made for this server: the transport, Stop and all else are what `useChat` brings. */
export function Chat({ id, messages: stored }: { id: string; messages: ChatMessage[] }) {
  const resume = stored.length > 0; // a new chat has nothing to resume
  const chat = useChat<ChatMessage>({ id, messages: stored, resume, sendAutomaticallyWhen: isAnswered });
  const { messages, status, error, sendMessage, regenerate, stop } = chat;
  const field = useRef<HTMLTextAreaElement>(null);
  const busy = status === "submitted" || status === "streaming";
  return (
    <main className="thread">
      <div className="log" role="log" aria-label="Conversation" aria-busy={busy}>
        <div className="said">
          {messages.length === 0 && <h1>What can I do for you?</h1>}
          {messages.map((message, index) => (
            <Message
              key={message.id}
              message={message}
              busy={busy}
              last={index === messages.length - 1}
              onEdit={(text) => void sendMessage({ messageId: message.id, text })}
              onRegenerate={() => void regenerate({ messageId: message.id })}
              onDecide={(decision) => {
                void chat.addToolApprovalResponse(decision);
                field.current?.focus(); // the button that had it is gone
              }}
              onOutput={(output) => {
                void chat.addToolOutput(output);
                field.current?.focus();
              }}
            />
          ))}
          {error && (
            <div className="problem" role="alert">
              <p>{error instanceof TypeError ? "No connection to the server." : error.message}</p>
              <button type="button" onClick={() => void regenerate()}>
                Retry
              </button>
            </div>
          )}
        </div>
      </div>
      <Composer field={field} busy={busy} onSend={sendMessage} onStop={stop} />
      <p className="status" role="status" data-status={status}>
        {busy ? "The agent is answering." : ""}
      </p>
    </main>
  );
}
