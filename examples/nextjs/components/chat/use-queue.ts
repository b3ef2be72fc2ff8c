import type { Chat as ChatState } from "@ai-sdk/react";
import { generateId, isToolUIPart } from "ai";
import { useCallback, useEffect, useRef, useState } from "react";
import { loadChat, steerRun } from "./chat-api";
import { useHost } from "./host";
import { keepQueue, keptQueue } from "./kept-queue";
import type { ChatMessage, Draft, StoredChat } from "./message-types";

/** What a message does that is sent while an answer is being written. */
export type WhileBusy = "queue" | "steer" | "interrupt";

/**
 * `steering`: the message is on its way to the agent. `steered`: the server has it, and the agent reads it before its
 * next model call.
 */
export type Queued = {
  id: string;
  draft: Draft;
  state: "waiting" | "steering" | "steered";
  /** How many of its files the browser could not keep. */
  lostFiles?: number;
};

export type Queue = ReturnType<typeof useQueue>;

/** The queue until the kept messages are read. */
const NONE: Queued[] = [];

type QueueOptions = {
  state: ChatState<ChatMessage>;
  busy: boolean;
  /** How the message of an idle chat is sent; in a busy one it interrupts. */
  send: (draft: Draft, messageId: undefined, id: string) => Promise<void>;
  showStored: (chat: StoredChat) => void;
};

/**
 * The messages that wait for the end of the answer, or for the agent to read them. The tab keeps them for each chat. A
 * chat that is opened again goes on with them if its answer goes on, else they wait for the user.
 */
export function useQueue({ state, busy, send, showStored }: QueueOptions) {
  const { api } = useHost();
  const [queued, setQueued] = useState<Queued[]>(NONE);
  const [paused, pause] = useState(false);
  const [restored, setRestored] = useState(false);
  useEffect(() => {
    const kept = keptQueue(state.id); // a server that draws the page has none
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
      void send(draft, undefined, id); // by its id the server knows it, if it has it already
    },
    [remove, send],
  );

  // The agent has read it: its part stands in the answer.
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
      looking.current = true; // also when the server's word on the message came after the end of the answer
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

/** True if the agent waits for the user: a message would close its question. */
function isWaiting(messages: ChatMessage[]): boolean {
  const last = messages.at(-1);
  const open = (last?.role === "assistant" ? last.parts : []).filter(isToolUIPart);
  return open.some(({ state }) => state === "approval-requested" || state === "input-available");
}

/** True if the message is in an answer, or has become a message of its own. */
function isRead(messages: ChatMessage[], id: string): boolean {
  return messages.some((message) => message.id === id || message.parts.some((part) => steeringOf(part)?.id === id));
}

/** The message of the user that a part holds. */
export function steeringOf(part: { type: string }): Steering | undefined {
  if (part.type === "data-adk-steering") return (part as unknown as { data: Steering }).data;
  return part.type === "steering-message" ? (part as unknown as Steering) : undefined;
}

export type Steering = { id: string; parts: ChatMessage["parts"] };

/** The pauses before the looks for the turn that the server begins with a message that came too late. */
const LOOKS = [100, 400, 1000, 2500];

/** The server goes on by itself with a message that came too late for the answer: shows that turn. */
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
