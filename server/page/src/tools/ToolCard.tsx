import { type ChatAddToolOutputFunction, type DynamicToolUIPart, getToolName, type ToolUIPart } from "ai";
import { type FormEvent, useState } from "react";
import { Approval, type OnApproval } from "./Approval";
import { Credential, CREDENTIAL } from "./Credential";
import { parsed } from "./Fields";
import { Json } from "./Json";
import type { ChatMessage, Confirmation } from "../chat/message-types";

export type Answers = {
  /** The response is over and the message is the last one: pending calls can be answered. */
  answerable: boolean;
  onApproval: OnApproval;
  onOutput: ChatAddToolOutputFunction<ChatMessage>;
};

type ToolPart = ToolUIPart | DynamicToolUIPart;

const LABELS: Record<ToolPart["state"], string> = {
  "input-streaming": "writing arguments…",
  "input-available": "running…",
  "approval-requested": "needs approval",
  "approval-responded": "answered",
  "output-available": "done",
  "output-error": "failed",
  "output-denied": "denied",
};

type ToolCardProps = Answers & {
  part: ToolPart;
  name: string;
  confirmation: Confirmation | undefined;
  /** It waits for a credential, which is another call's output. */
  gated: boolean;
};

export function ToolCard({ part, name, confirmation, gated, ...answers }: ToolCardProps) {
  const open = part.state === "input-available" && !part.providerExecuted && answers.answerable;
  const pending = open && !gated;
  return (
    <section className="tool" data-tool={getToolName(part)} data-state={part.state} aria-label={`Tool ${name}`}>
      <header>
        <span className="mark" aria-hidden="true" />
        <h3>{name}</h3>
        <span className="state">{open ? (gated ? "needs a credential" : "waits for you") : label(part)}</span>
      </header>
      <Input part={part} />
      {part.state === "approval-requested" && answers.answerable && (
        <Approval id={part.approval.id} confirmation={confirmation} onApproval={answers.onApproval} />
      )}
      {pending && <Answer part={part} onOutput={answers.onOutput} />}
      {part.state === "output-available" && <Json value={part.output} label="output" />}
      {part.state === "output-error" && (
        <p className="failure" role="alert">
          {part.errorText}
        </p>
      )}
      {part.approval?.reason && <p className="reason">“{part.approval.reason}”</p>}
    </section>
  );
}

function label(part: ToolPart): string {
  if (part.state === "approval-responded") return part.approval.approved ? "approved" : "denied";
  if (part.state === "output-available" && part.preliminary) return "working…";
  return LABELS[part.state];
}

/** The arguments, growing while they stream. */
function Input({ part }: { part: ToolPart }) {
  const input = part.input ?? ("rawInput" in part ? part.rawInput : undefined);
  if (input === undefined || (typeof input === "object" && input !== null && Object.keys(input).length === 0)) {
    return null;
  }
  return <Json value={input} label="input" live={part.state === "input-streaming"} />;
}

/** A form for any tool that the browser is to answer: what is typed is sent as JSON if it is JSON, else as text. */
function Answer({ part, onOutput }: { part: ToolPart; onOutput: Answers["onOutput"] }) {
  const [typed, setTyped] = useState("");
  const send = (output: unknown) => void onOutput({ tool: getToolName(part), toolCallId: part.toolCallId, output });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send(parsed(typed));
  };
  if (getToolName(part) === CREDENTIAL) return <Credential asked={part.input ?? {}} onOutput={send} />;
  const asked = question(part.input);
  return (
    <form className="answer" onSubmit={submit} aria-label="Answer">
      {asked && <p className="question">{asked}</p>}
      <input
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        placeholder="Text or JSON"
        aria-label={asked ?? "Your answer"}
        required
      />
      <button type="submit" className="primary">
        Answer
      </button>
    </form>
  );
}

function question(input: unknown): string | undefined {
  if (typeof input !== "object" || input === null || !("message" in input)) return undefined;
  return typeof input.message === "string" ? input.message : undefined;
}
