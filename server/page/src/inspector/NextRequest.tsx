import { isToolUIPart } from "ai";
import { useState } from "react";
import { requestBody } from "../components/chat/chat-api";
import type { ChatMessage } from "../components/chat/message-types";
import { Collapsible } from "../components/ui/collapsible";
import { Posted } from "./Requests";

const WAITING = new Set(["input-available", "approval-requested"]);

type NextRequestProps = {
  id: string;
  messages: ChatMessage[];
  /** Payloads of approved calls. */
  payloads: Record<string, unknown>;
  busy: boolean;
};

/** The request that the page would send next. The page's transport uses the same function. */
export function NextRequest({ id, messages, payloads, busy }: NextRequestProps) {
  const [open, setOpen] = useState(false);
  const last = messages.at(-1);
  const waiting = last?.role === "assistant" && last.parts.some((part) => isToolUIPart(part) && WAITING.has(part.state));
  const words: ChatMessage = { id: "…", role: "user", parts: [{ type: "text", text: "…" }] };
  const asked = { id, trigger: "submit-message", messageId: undefined };
  return (
    <Collapsible open={open} onOpenChange={setOpen} summary="The next request, not sent yet" className="border-t pt-3" summaryClassName="text-sm font-medium">
      <div className="mt-2 flex flex-col gap-3">
        {waiting && (
          <>
            <p className="text-sm">After all pending calls are answered, the client sends the message with the answers:</p>
            <Posted body={posted(requestBody({ ...asked, messageId: last.id, messages }, payloads))} label="Request with the answers" />
          </>
        )}
        <p className="text-sm">{busy ? "With the next user message, which interrupts the run:" : "With the next user message:"}</p>
        <Posted body={posted(requestBody({ ...asked, messages: [...messages, words] }, payloads))} label="Request with the user's words" />
      </div>
    </Collapsible>
  );
}

/** Return the body as JSON has it, without undefined values. */
function posted(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body));
}
