import type { Chat as ChatState } from "@ai-sdk/react";
import { generateId, isToolUIPart } from "ai";
import { useCallback, useEffect, useRef, useState } from "react";
import { loadChat, steerRun } from "./chat-api";
import { useHost } from "./host";
import { keepQueue, keptQueue } from "./kept-queue";
import type { ChatMessage, Draft, StoredChat } from "./message-types";

/** How a message is sent while a reply is streaming. */
export type WhileBusy = "queue" | "steer" | "interrupt";

/**
 * `steering`: the message is on its way to the agent. `steered`: the server has it, and the agent reads it before its
 * next model call.
 */
export type Queued = {
  id: string;
  draft: Draft;
  state: "waiting" | "steering" | "steered";
  /** Number of files that the browser's storage had no room for. */
  lostFiles?: number;
};

export type Queue = ReturnType<typeof useQueue>;

/** The empty queue, until the stored messages are read. */
const NONE: Queued[] = [];

type QueueOptions = {
  state: ChatState<ChatMessage>;
  busy: boolean;
  /** Sends a message. In a busy chat it interrupts the reply. */
  send: (draft: Draft, messageId: undefined, id: string) => Promise<void>;
  showStored: (chat: StoredChat) => void;
};

/**
 * The messages that wait until the reply ends or the agent reads them. The tab stores them for each chat. If the user
 * opens the chat again while its reply is streaming, the queue continues. Otherwise the messages wait for the user.
 */
export function useQueue({ state, busy, send, showStored }: QueueOptions) {
  const { api } = useHost();
  const [queued, setQueued] = useState<Queued[]>(NONE);
  const [paused, pause] = useState(false);
  const [restored, setRestored] = useState(false);
  useEffect(() => {
    const kept = keptQueue(state.id); // always empty during server rendering
    setQueued(kept);
    setRestored(kept.length > 0);
    pause(kept.length > 0);
  }, [state]);
  useEffect(() => {
    if (queued !== NONE) keepQueue(state.id, queued);
  }, [state, queued]);
  const streaming = busy && state.status === "streaming";
  useEffect(() => {
    if (!restored || !streaming) return;
    setRestored(false);
    pause(false);
  }, [restored, streaming]);
  const remove = useCallback((id: string) => setQueued((all) => all.filter((one) => one.id !== id)), []);
  const add = useCallback((draft: Draft) => {
    const message: Queued = { id: generateId(), draft, state: "waiting" };
    pause(false);
    setQueued((all) => [...all, message]);
    return message;
  }, []);
  const steer = useCallback(
    async ({ id, draft }: Queued) => {
      const mark = (state: Queued["state"]) => setQueued((all) => all.map((one) => (one.id === id ? { ...one, state } : one)));
      mark("steering");
      mark((await steerRun(api, state.id, id, draft)) ? "steered" : "waiting");
    },
    [api, state],
  );
  const sendNow = useCallback(
    ({ id, draft }: Queued) => {
      remove(id);
      void send(draft, undefined, id); // the id lets the server recognize a message that it already has
    },
    [remove, send],
  );

  // Remove messages that the agent has read: the reply has a part for each.
  const read = queued.filter(({ id, state: is }) => is === "steered" && isRead(state.messages, id)).map(({ id }) => id).join();
  useEffect(() => {
    if (read !== "") setQueued((all) => all.filter(({ id }) => !read.split(",").includes(id)));
  }, [read]);

  const looking = useRef(false);
  useEffect(() => {
    if (busy || state.status !== "ready" || queued.length === 0) return;
    const late = queued.filter((one) => one.state === "steered" && !isRead(state.messages, one.id)).map(({ id }) => id);
    if (late.length > 0) {
      if (looking.current) return;
      looking.current = true; // also if the server accepted the message after the end of the reply
      void showNextTurn(api, state, showStored).then(() => {
        looking.current = false;
        setQueued((all) => all.filter(({ id }) => !late.includes(id)));
      });
      return;
    }
    const [next] = queued;
    if (next?.state === "waiting" && !paused && !isWaiting(state.messages)) sendNow(next);
  }, [api, state, busy, paused, queued, sendNow, showStored]);

  return { queued, paused, add, remove, steer, sendNow, pause: useCallback(() => pause(true), []) };
}

/** True if the agent waits for the user: a message would cancel its question. */
function isWaiting(messages: ChatMessage[]): boolean {
  const last = messages.at(-1);
  const open = (last?.role === "assistant" ? last.parts : []).filter(isToolUIPart);
  return open.some(({ state }) => state === "approval-requested" || state === "input-available");
}

/** True if the message is part of a reply, or is a message of the chat. */
function isRead(messages: ChatMessage[], id: string): boolean {
  return messages.some((message) => message.id === id || message.parts.some((part) => steeringOf(part)?.id === id));
}

/** The user's message in a steering part. */
export function steeringOf(part: { type: string }): Steering | undefined {
  if (part.type === "data-adk-steering") return (part as unknown as { data: Steering }).data;
  return part.type === "steering-message" ? (part as unknown as Steering) : undefined;
}

export type Steering = { id: string; parts: ChatMessage["parts"] };

/** Delays in milliseconds between checks for the reply to a message that came too late. */
const LOOKS = [100, 400, 1000, 2500];

/** Show the reply to a message that came too late: the server starts this reply by itself. */
async function showNextTurn(api: string, state: ChatState<ChatMessage>, showStored: (chat: StoredChat) => void): Promise<void> {
  for (const pause of LOOKS) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    const stored = await loadChat(api, state.id).catch(() => undefined);
    if (state.status !== "ready") return;
    if (stored && stored.messages.at(-1)?.id !== state.messages.at(-1)?.id) {
      showStored(stored);
      await state.resumeStream();
      return;
    }
  }
}
