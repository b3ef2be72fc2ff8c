"use client";
import { Chat, useChat } from "@ai-sdk/react";
import * as ai from "ai";
import { useRef, useState } from "react";

type Message = ai.UIMessage;
type Part = Message["parts"][number];

const API = "/api/chat";
const CLIENT_TOOLS: Record<string, () => unknown> = {
  get_time_zone: () => ({ timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone }),
};

export function ChatPage({ id, messages: stored }: { id: string; messages: Message[] }) {
  const url = `${API}/${encodeURIComponent(id)}`;
  const [lost, setLost] = useState(false);
  const [stopped, setStopped] = useState<string>();
  const [editing, setEditing] = useState<string>();
  const [text, setText] = useState("");
  const files = useRef<HTMLInputElement>(null);
  const [chat] = useState(
    () =>
      new Chat<Message>({
        id,
        messages: stored,
        transport: new ai.DefaultChatTransport({ api: API }),
        sendAutomaticallyWhen: (options) =>
          ai.lastAssistantMessageIsCompleteWithApprovalResponses(options) ||
          ai.lastAssistantMessageIsCompleteWithToolCalls(options),
        onFinish: ({ isDisconnect }) => setLost(isDisconnect),
      }),
  );
  const { messages, status, error } = useChat({ chat, resume: stored.length > 0 });
  const busy = status === "submitted" || status === "streaming";

  async function send() {
    await chat.stop(); // the server stops the run when the new message arrives
    setEditing(undefined);
    setText("");
    await chat.sendMessage({ text, files: files.current?.files ?? undefined, messageId: editing });
  }
  async function stop() { // ends the run; chat.stop() only disconnects
    setStopped(messages.at(-1)?.id);
    await fetch(`${url}/stop`, { method: "POST" });
  }
  async function retry() {
    if (!lost) return chat.regenerate();
    await chat.resumeStream(); // shows the answer if it is still being written
    if (chat.status === "error") return;
    const { messages: now } = await (await fetch(url)).json();
    if (now.length < chat.messages.length) await chat.regenerate(); // the message did not arrive
    else chat.messages = now;
  }

  return (
    <main>
      {messages.map(({ id, role, parts }) => (
        <article key={id} aria-label={role === "user" ? "You" : "Agent"}>
          {parts.map((part, index) => <PartView key={index} part={part} chat={chat} />)}
          {id === stopped && <p>Stopped. This answer is incomplete.</p>}
          {role === "user" && (
            <button
              onClick={() => {
                setEditing(id);
                setText(parts.map((part) => (part.type === "text" ? part.text : "")).join(""));
              }}
            >
              Edit
            </button>
          )}
        </article>
      ))}
      {error && (
        <p role="alert">
          {error instanceof TypeError ? "No connection to the server." : error.message}{" "}
          <button onClick={() => void retry()}>{lost ? "Reconnect" : "Retry"}</button>
        </p>
      )}
      <form action={send}>
        <textarea aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <input type="file" aria-label="Files" ref={files} multiple />
        <button disabled={!text.trim()}>
          {editing === undefined ? "Send" : "Replace the message and its answers"}
        </button>
        {busy && <button type="button" onClick={() => void stop()}>Stop</button>}
      </form>
    </main>
  );
}

function PartView({ part, chat }: { part: Part; chat: Chat<Message> }) {
  if (part.type === "text") return <p>{part.text}</p>;
  if (part.type === "file") { // not an image: a model can name any host
    return <a href={part.url} download={part.filename ?? "file"}>{part.filename ?? part.mediaType}</a>;
  }
  if (!ai.isToolUIPart(part)) return null;
  const tool = ai.getToolName(part);
  const run = part.state === "input-available" ? CLIENT_TOOLS[tool] : undefined;
  const decide = (id: string, approved: boolean) => void chat.addToolApprovalResponse({ id, approved });
  return (
    <section aria-label={`Tool ${tool}`} data-state={part.state}>
      <pre>{tool} {JSON.stringify(part.input)}</pre>
      {part.state === "approval-requested" && (
        <>
          <button onClick={() => decide(part.approval.id, true)}>Approve</button>
          <button onClick={() => decide(part.approval.id, false)}>Deny</button>
        </>
      )}
      {run && (
        <button onClick={() => void chat.addToolOutput({ tool, toolCallId: part.toolCallId, output: run() })}>
          Allow
        </button>
      )}
      {part.state === "output-available" && <pre>{JSON.stringify(part.output)}</pre>}
      {part.state === "output-error" && <p role="alert">{part.errorText}</p>}
    </section>
  );
}
