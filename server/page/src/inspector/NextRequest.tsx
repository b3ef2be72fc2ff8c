import { isToolUIPart } from "ai";
import { requestBody } from "../components/chat/chat-api";
import type { ChatMessage } from "../components/chat/message-types";
import { Terminal } from "lucide-react";
import { Button } from "../components/ui/button";
import { Shown } from "./Shown";

const WAITING = new Set(["input-available", "approval-requested"]);

type NextRequestProps = {
  id: string;
  messages: ChatMessage[];
  /** What approved calls get. */
  payloads: Record<string, unknown>;
  busy: boolean;
};

/** What the page posts next: by the same function that its transport calls. */
export function NextRequest({ id, messages, payloads, busy }: NextRequestProps) {
  const last = messages.at(-1);
  const waiting = last?.role === "assistant" && last.parts.some((part) => isToolUIPart(part) && WAITING.has(part.state));
  const words: ChatMessage = { id: "…", role: "user", parts: [{ type: "text", text: "…" }] };
  const asked = { id, trigger: "submit-message", messageId: undefined };
  const next = posted(requestBody({ ...asked, messages: [...messages, words] }, payloads));
  return (
    <>
      <p className="flex flex-wrap items-center gap-2 font-mono text-xs">
        <span className="font-semibold">POST</span> <span className="min-w-0 flex-1 wrap-anywhere">{ADDRESS}</span>
        <Button size="small" className="font-sans" onClick={() => void navigator.clipboard?.writeText(asCurl(next))}>
          <Terminal className="size-4" aria-hidden /> Copy as cURL
        </Button>
      </p>
      {waiting && (
        <>
          <p className="text-sm">After all pending calls are answered, the client sends the message with the answers:</p>
          <Shown value={posted(requestBody({ ...asked, messageId: last.id, messages }, payloads))} label="Request with the answers" />
        </>
      )}
      <p className="text-sm">{busy ? "With the next user message, which interrupts the run:" : "With the next user message:"}</p>
      <Shown value={next} label="Request with the user's words" />
    </>
  );
}

const ADDRESS = new URL("api/chat", document.baseURI).href;

function asCurl(body: unknown): string {
  const data = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl --no-buffer -H 'content-type: application/json' -d '${data}' '${ADDRESS}'`;
}

/** As JSON has it: without what is undefined. */
function posted(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body));
}
