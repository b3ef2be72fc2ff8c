import { isToolUIPart } from "ai";
import type { ChatMessage, ChatPart } from "./message-types";

/** Shows that the agent is working while nothing else moves. It appears after a short delay. */
export function Waiting({ text = "Working…" }: { text?: string }) {
  return (
    <p className="waiting flex items-center gap-2.5 text-sm text-muted-foreground">
      <span className="flex gap-1" aria-hidden>
        {["", "[animation-delay:150ms]", "[animation-delay:300ms]"].map((delay) => (
          <span key={delay} className={`size-1.5 animate-pulse rounded-full bg-current ${delay}`} />
        ))}
      </span>
      {text}
    </p>
  );
}

/** Return true while a part of the message shows progress: a growing text, or a running call. */
export function moves(message: ChatMessage | undefined): boolean {
  return message?.role === "assistant" && message.parts.some(isMoving);
}

function isMoving(part: ChatPart): boolean {
  if (part.type === "text" || part.type === "reasoning") return part.state === "streaming" && part.text !== "";
  if (!isToolUIPart(part)) return false;
  if (part.state === "output-available") return part.preliminary === true;
  return part.state === "input-streaming" || part.state === "input-available";
}
