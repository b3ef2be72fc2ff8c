import { getToolName } from "ai";
import { Ban, ChevronDown, CircleCheck, CircleHelp, CircleX, Clock, LoaderCircle, type LucideIcon } from "lucide-react";
import { Collapsible } from "radix-ui";
import { useState } from "react";
import { type ChatMessage, confirmationOf, CREDENTIAL, denialOf, needsCredential, QUESTION, type ToolPart } from "@/lib/chat-message";
import { Approval } from "./approval";
import { ClientTool, clientTool } from "./client-tool";
import { Credential } from "./credential";
import { Question } from "./question";

type ToolCallProps = {
  part: ToolPart;
  message: ChatMessage;
  /** The message is being written. */
  live: boolean;
  /** The answer is over and this message is the last: what waits for the user can be answered. */
  answerable: boolean;
};

export function ToolCall({ part, message, live, answerable }: ToolCallProps) {
  const waits = answerable && (part.state === "approval-requested" || (part.state === "input-available" && !part.providerExecuted));
  const [chosen, choose] = useState<boolean>();
  const name = part.title ?? getToolName(part);
  const state = describe(part, waits, live);
  return (
    <section aria-label={`Tool ${name}`} data-tool={getToolName(part)} data-state={part.state} className="rounded-xl border bg-card text-sm">
      <Collapsible.Root open={chosen ?? part.state === "output-error"} onOpenChange={choose}>
        <Collapsible.Trigger className="group/tool flex w-full items-center gap-2 p-3 text-left">
          <state.icon className={`size-4 shrink-0 ${state.look}`} aria-hidden />
          <span className="min-w-0 flex-1 truncate font-medium">{name}</span>
          <span className="text-muted-foreground">{state.label}</span>
          <ChevronDown className="size-4 shrink-0 transition-transform group-data-[state=open]/tool:rotate-180" aria-hidden />
        </Collapsible.Trigger>
        <Collapsible.Content className="space-y-3 border-t p-3">
          <Json title="Input" value={part.input ?? ("rawInput" in part ? part.rawInput : undefined)} />
          {part.state === "output-available" && <Json title="Output" value={part.output} />}
          {part.state === "output-denied" && <Json title="Output" value={denialOf(message, part.toolCallId)?.output} />}
          {part.state === "output-error" && <p className="text-destructive wrap-anywhere">{part.errorText}</p>}
          {part.approval?.reason && <p>Reason: {part.approval.reason}</p>}
        </Collapsible.Content>
      </Collapsible.Root>
      {waits && <Waiting part={part} message={message} />}
    </section>
  );
}

/** What the user is asked for, by the kind of call. */
function Waiting({ part, message }: { part: ToolPart; message: ChatMessage }) {
  const confirmation = confirmationOf(message, part.toolCallId);
  if (part.state === "approval-requested") return <Approval part={part} confirmation={confirmation} />;
  const tool = clientTool(part);
  if (tool) return <ClientTool tool={tool} part={part} />;
  if (getToolName(part) === QUESTION) return <Question part={part} />;
  if (getToolName(part) === CREDENTIAL) return <Credential part={part} />;
  if (needsCredential(message, part.toolCallId)) return <p className="px-3 pb-3 text-muted-foreground">It goes on once you have signed in.</p>;
  return null; // another system answers it
}

/** True for a call without an outcome: once later words have come, it gets none. */
function isOpen(part: ToolPart): boolean {
  if (part.state === "output-available") return part.preliminary === true;
  return ["input-streaming", "input-available", "approval-requested"].includes(part.state);
}

type Look = { label: string; icon: LucideIcon; look: string };

function describe(part: ToolPart, waits: boolean, live: boolean): Look {
  if (waits) return { label: "waits for you", icon: CircleHelp, look: "text-warning" };
  if (!live && isOpen(part)) return { label: "left open", icon: Ban, look: "text-muted-foreground" };
  switch (part.state) {
    case "input-streaming":
      return { label: "is being written", icon: LoaderCircle, look: "animate-spin" };
    case "input-available":
      return { label: "running", icon: LoaderCircle, look: "animate-spin" };
    case "approval-requested":
      return { label: "waits for you", icon: Clock, look: "text-warning" };
    case "approval-responded":
      return part.approval.approved
        ? { label: "approved", icon: CircleCheck, look: "" }
        : { label: "denied", icon: Ban, look: "text-warning" };
    case "output-available":
      return part.preliminary
        ? { label: "working", icon: LoaderCircle, look: "animate-spin" }
        : { label: "done", icon: CircleCheck, look: "text-success" };
    case "output-error":
      return { label: "failed", icon: CircleX, look: "text-destructive" };
    case "output-denied":
      return { label: "denied", icon: Ban, look: "text-warning" };
  }
}

function Json({ title, value }: { title: string; value: unknown }) {
  if (value === undefined) return null;
  return (
    <div>
      <h4 className="mb-1 text-xs text-muted-foreground">{title}</h4>
      <pre className="max-h-80 overflow-auto rounded-lg bg-muted p-3 text-xs">
        {typeof value === "string" ? value : JSON.stringify(value, null, 2)}
      </pre>
    </div>
  );
}
