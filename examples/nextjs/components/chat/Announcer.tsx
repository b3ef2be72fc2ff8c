import { type ChatStatus, isToolUIPart } from "ai";
import type { ChatMessage, Outcomes } from "./message-types";

type AnnouncerProps = { status: ChatStatus; reconnecting: boolean; messages: ChatMessage[]; outcomes: Outcomes };

/** Says once that an answer begins, and once that it has ended or waits for the user. The text itself is silent. */
export function Announcer({ status, reconnecting, messages, outcomes }: AnnouncerProps) {
  return (
    <p className="sr-only" role="status" data-status={status}>
      {reconnecting ? "The connection was lost. Reconnecting." : told(status, messages.at(-1), outcomes)}
    </p>
  );
}

function told(status: ChatStatus, last: ChatMessage | undefined, outcomes: Outcomes): string {
  if (status === "submitted" || status === "streaming") return "The agent is answering.";
  if (status === "error" || last === undefined) return ""; // an error is an alert of its own
  const outcome = outcomes.get(last.id);
  if (outcome?.type === "stopped") return "The answer was stopped.";
  if (outcome?.type === "failed") return "The answer failed.";
  if (last.role !== "assistant") return "";
  const needed = neededFrom(last, outcomes);
  if (needed === "approval") return "The agent waits for your approval.";
  return needed === "input" ? "The agent needs your input." : "The agent has answered.";
}

/** What the agent needs from the user to go on after its last message. */
function neededFrom(last: ChatMessage | undefined, outcomes: Outcomes): "approval" | "input" | undefined {
  if (last?.role !== "assistant" || outcomes.get(last.id)?.type === "stopped") return undefined;
  const calls = last.parts.filter(isToolUIPart);
  if (calls.some(({ state }) => state === "approval-requested")) return "approval";
  const asks = calls.some(({ state, providerExecuted }) => state === "input-available" && !providerExecuted);
  return asks ? "input" : undefined;
}
