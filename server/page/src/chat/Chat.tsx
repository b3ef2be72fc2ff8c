import { Chat as ChatState, useChat } from "@ai-sdk/react";
import {
  type ChatOnFinishCallback,
  type ChatStatus,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from "ai";
import { useCallback, useEffect, useRef, useState } from "react";
import type { OnApproval } from "../tools/Approval";
import { Composer } from "../composer/Composer";
import { loadHistory } from "./history";
import { Message } from "../messages/Message";
import { type ChatMessage, speakerOf } from "./message-types";

const STATUS: Record<ChatStatus, string> = {
  submitted: "Waiting for the agent…",
  streaming: "Answering…",
  ready: "",
  error: "",
};

/** True when every pending call of the last step is settled, be it by an approval, a refusal or an answer. */
function isAnswered(chat: { messages: ChatMessage[] }): boolean {
  return (
    lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat)
  );
}

/** `stop()` only leaves the stream, as a reload does; the server is told that the run shall end. */
async function stopRun(id: string): Promise<void> {
  await fetch(`api/chat/${encodeURIComponent(id)}/stop`, { method: "POST" }).catch(() => undefined);
}

/** Takes up a response whose connection broke, or what became of it; asks anew for one that never began. */
async function reconnect(state: ChatState<ChatMessage>): Promise<void> {
  const shown = state.messages;
  await state.resumeStream();
  if (state.messages !== shown || state.error !== undefined) return;
  const stored = await loadHistory(state.id);
  if (stored.length < shown.length) await state.regenerate();
  else state.messages = stored;
}

export function Chat({ id, messages, resume }: { id: string; messages: ChatMessage[]; resume: boolean }) {
  const payloads = useRef<Record<string, unknown>>({});
  const lost = useRef(false);
  // A state of our own: with a mere transport `useChat` of v6 forgets that a resumed response begins anew.
  const [state] = useState(() => {
    // They go with whatever is sent next: an approval is sent when the last open call has its answer.
    const body = () => ({ approvalPayloads: payloads.current });
    const transport = new DefaultChatTransport<ChatMessage>({ api: "api/chat", body });
    const onFinish: ChatOnFinishCallback<ChatMessage> = ({ isDisconnect }) => {
      lost.current = isDisconnect;
    };
    return new ChatState<ChatMessage>({ id, messages, transport, onFinish, sendAutomaticallyWhen: isAnswered });
  });
  const chat = useChat<ChatMessage>({ chat: state, resume, experimental_throttle: 30 });
  const retry = () => (lost.current ? reconnect(state) : state.regenerate());
  const busy = chat.status === "submitted" || chat.status === "streaming";
  const root = chat.messages.flatMap((message) => message.parts).map(speakerOf).find((name) => name !== undefined);
  const end = useStickyEnd(chat.messages);
  const { addToolApprovalResponse } = chat;
  const onApproval: OnApproval = useCallback(
    (answer, payload) => {
      if (payload !== undefined) payloads.current[answer.id] = payload;
      void addToolApprovalResponse(answer);
    },
    [addToolApprovalResponse],
  );

  return (
    <>
      <main>
        {chat.messages.length === 0 && <Welcome onPick={(text) => void chat.sendMessage({ text })} />}
        <div className="messages" role="log" aria-label="Conversation" aria-busy={busy}>
          {chat.messages.map((message, index) => {
            const last = index === chat.messages.length - 1;
            return (
              <Message
                key={message.id}
                message={message}
                root={root}
                live={last && busy}
                answerable={last && !busy}
                onApproval={onApproval}
                onOutput={chat.addToolOutput}
              />
            );
          })}
        </div>
        {chat.error && (
          <div className="problem" role="alert">
            <p>{chat.error.message || "Something went wrong."}</p>
            <button type="button" onClick={() => void retry()}>
              Retry
            </button>
            <button type="button" className="plain" onClick={chat.clearError}>
              Dismiss
            </button>
          </div>
        )}
        <div ref={end} />
      </main>
      <footer className="foot">
        <p className="status" role="status" data-status={chat.status}>
          {STATUS[chat.status]}
        </p>
        <Composer
          busy={busy}
          onSend={(text, files) => void chat.sendMessage({ text, files })}
          onStop={() => {
            void stopRun(id).finally(chat.stop);
          }}
        />
      </footer>
    </>
  );
}

function Welcome({ onPick }: { onPick: (text: string) => void }) {
  const suggestions = useSuggestions();
  return (
    <section className="welcome">
      <h2>Talk to the agent</h2>
      <p className="faint">
        {suggestions.length > 0 ? "Begin with one of these, or with words of your own." : "Write a message to begin."}
      </p>
      {suggestions.length > 0 && (
        <ul>
          {suggestions.map((text) => (
            <li key={text}>
              <button type="button" onClick={() => onPick(text)}>
                {text}
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** What the server suggests to say first: the built page suggests nothing, a server may put its own list there. */
function useSuggestions(): string[] {
  const [suggestions, setSuggestions] = useState<string[]>([]);
  useEffect(() => {
    void fetch("suggestions.json")
      .then((response) => (response.ok ? response.json() : []))
      .then(setSuggestions, () => undefined);
  }, []);
  return suggestions;
}

/** Keeps the end in view while the reader is there, and leaves those alone who have scrolled up. */
function useStickyEnd(messages: ChatMessage[]) {
  const end = useRef<HTMLDivElement>(null);
  const followed = useRef(true);
  useEffect(() => {
    const onScroll = () => {
      const page = document.documentElement;
      followed.current = page.scrollHeight - page.scrollTop - page.clientHeight < 120;
    };
    window.addEventListener("scroll", onScroll, { passive: true });
    return () => window.removeEventListener("scroll", onScroll);
  }, []);
  useEffect(() => {
    if (followed.current || messages.at(-1)?.role === "user") end.current?.scrollIntoView({ block: "end" });
  }, [messages]);
  return end;
}
