"use client";

import { Chat, useChat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from "ai";
import { useState } from "react";

type Part = UIMessage["parts"][number];

export function ChatView({ id, messages }: { id: string; messages: UIMessage[] }) {
  const [state] = useState(
    () =>
      new Chat({
        id,
        messages,
        transport: new DefaultChatTransport({ api: "/api/chat" }),
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      }),
  );
  const chat = useChat({ chat: state, resume: true });
  const busy = chat.status === "submitted" || chat.status === "streaming";
  // `chat.stop()` would only leave the stream, as a reload does: the run would go on.
  const stop = () => fetch(`/api/chat/${encodeURIComponent(id)}/stop`, { method: "POST" });
  const decide = (id: string, approved: boolean) => void chat.addToolApprovalResponse({ id, approved });

  return (
    <main>
      {chat.messages.map((message) => (
        <section key={message.id}>
          <b>{message.role}</b>
          {message.parts.map((part, index) => (
            <PartView key={index} part={part} onDecision={decide} />
          ))}
        </section>
      ))}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <form action={(form) => void chat.sendMessage({ text: String(form.get("text")) })}>
        <input name="text" aria-label="Message" required disabled={busy} />
        {busy ? (
          <button type="button" onClick={() => void stop()}>
            Stop
          </button>
        ) : (
          <button>Send</button>
        )}
      </form>
    </main>
  );
}

function PartView({ part, onDecision }: { part: Part; onDecision: (id: string, approved: boolean) => void }) {
  if (part.type === "text") return <p>{part.text}</p>;
  if (!isToolUIPart(part)) return null;
  const { approval, state } = part;
  return (
    <div>
      <pre>{JSON.stringify({ tool: part.type, state, input: part.input, output: part.output }, null, 2)}</pre>
      {state === "approval-requested" && approval && (
        <>
          <button onClick={() => onDecision(approval.id, true)}>Approve</button>
          <button onClick={() => onDecision(approval.id, false)}>Deny</button>
        </>
      )}
    </div>
  );
}
