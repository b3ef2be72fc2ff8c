import { type ChatStatus, isToolUIPart } from "ai";
import type { ChatMessage } from "./message-types";

type AnnouncerProps = { status: ChatStatus; reconnecting: boolean; messages: ChatMessage[] };

/** Says once that an answer begins, and once that it has ended or waits for the user. The text itself is silent. */
export function Announcer({ status, reconnecting, messages }: AnnouncerProps) {
  return (
    <p className="sr-only" role="status" data-status={status}>
      {reconnecting ? "The connection was lost. Reconnecting." : told(status, messages.at(-1))}
    </p>
  );
}

function told(status: ChatStatus, last: ChatMessage | undefined): string {
  if (status === "submitted" || status === "streaming") return "The agent is answering.";
  if (status === "error" || last?.role !== "assistant") return ""; // an error is an alert of its own
  const needed = neededFrom(last);
  if (needed === "approval") return "The agent waits for your approval.";
  return needed === "input" ? "The agent needs your input." : "The agent has answered.";
}

/** What the agent needs from the user to go on after its last message. */
export function neededFrom(last: ChatMessage | undefined): "approval" | "input" | undefined {
  if (last?.role !== "assistant") return undefined;
  const calls = last.parts.filter(isToolUIPart);
  if (calls.some(({ state }) => state === "approval-requested")) return "approval";
  const asks = calls.some(({ state, providerExecuted }) => state === "input-available" && !providerExecuted);
  return asks ? "input" : undefined;
}
