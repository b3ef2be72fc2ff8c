import type { ChatStatus } from "ai";
import { type ChatMessage, neededFor, type Outcomes } from "./message-types";

type AnnouncerProps = { status: ChatStatus; reconnecting: boolean; messages: ChatMessage[]; outcomes: Outcomes };

/** Tells screen readers when a reply begins, and when it ends or waits for the user. The text is not announced. */
export function Announcer({ status, reconnecting, messages, outcomes }: AnnouncerProps) {
  return (
    <p className="sr-only" role="status" data-status={status}>
      {reconnecting ? "The connection was lost. Reconnecting." : told(status, messages.at(-1), outcomes)}
    </p>
  );
}

function told(status: ChatStatus, last: ChatMessage | undefined, outcomes: Outcomes): string {
  if (status === "submitted" || status === "streaming") return "The agent is answering.";
  const outcome = outcomes.get(last?.id ?? "");
  if (outcome?.type === "failed") return `The answer failed. ${outcome.errorText ?? ""}`.trim();
  if (status === "error" || last === undefined) return ""; // an error has its own alert
  if (outcome?.type === "stopped") return "The answer was stopped.";
  if (last.role !== "assistant") return "";
  const needed = neededFor(last);
  if (needed === "approval") return "The agent waits for your approval.";
  return needed === "input" ? "The agent needs your input." : "The agent has answered.";
}
