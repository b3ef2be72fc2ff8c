import { type ChatStatus, isToolUIPart } from "ai";
import type { ChatMessage } from "./message-types";

type AnnouncerProps = { status: ChatStatus; reconnecting: boolean; messages: ChatMessage[]; stopped: ReadonlySet<string> };

/** Says once that an answer begins, and once that it has ended or waits for the user. The text itself is silent. */
export function Announcer({ status, reconnecting, messages, stopped }: AnnouncerProps) {
  return (
    <p className="sr-only" role="status" data-status={status}>
      {reconnecting ? "The connection was lost. Reconnecting." : told(status, messages.at(-1), stopped)}
    </p>
  );
}

function told(status: ChatStatus, last: ChatMessage | undefined, stopped: ReadonlySet<string>): string {
  if (status === "submitted" || status === "streaming") return "The agent is answering.";
  if (status === "error" || last?.role !== "assistant") return ""; // an error is an alert of its own
  if (stopped.has(last.id)) return "The answer was stopped.";
  const needed = neededFrom(last, stopped);
  if (needed === "approval") return "The agent waits for your approval.";
  return needed === "input" ? "The agent needs your input." : "The agent has answered.";
}

/** What the agent needs from the user to go on after its last message. `stopped`: the ids of stopped messages. */
export function neededFrom(last: ChatMessage | undefined, stopped: ReadonlySet<string>): "approval" | "input" | undefined {
  if (last?.role !== "assistant" || stopped.has(last.id)) return undefined;
  const calls = last.parts.filter(isToolUIPart);
  if (calls.some(({ state }) => state === "approval-requested")) return "approval";
  const asks = calls.some(({ state, providerExecuted }) => state === "input-available" && !providerExecuted);
  return asks ? "input" : undefined;
}
