import { type DynamicToolUIPart, getToolName, type ToolUIPart } from "ai";
import { Wrench } from "lucide-react";
import { useState } from "react";
import { callsInside, type Confirmation, isCutOff, isUnanswered, nestedMessageOf, type Progress as Reported } from "../chat/message-types";
import { Collapsible } from "../ui/collapsible";
import { useSeconds } from "../ui/use-seconds";
import { Answer, type OnOutput } from "./Answer";
import { Approval, type OnApproval } from "./Approval";
import { CREDENTIAL } from "./Credential";
import { Fields, LabelledFields } from "./Fields";
import { Nested } from "./Nested";
import { Output } from "./Output";
import { Progress } from "./Progress";
import { isObject } from "./schema";
import { ToolState } from "./ToolState";

export type Answers = {
  /** The response is over and the message is the last one: pending calls can be answered. */
  answerable: boolean;
  /** There is a later message: what is still open stays so. */
  passed: boolean;
  /** The user has ended the message before it was whole: what is open in it stays without a result. */
  stopped: boolean;
  onApproval: OnApproval;
  onOutput: OnOutput;
  /** The calls of the whole message: a question inside an agent that runs as a tool is one of them. */
  asked?: ToolPart[];
};

export type ToolPart = ToolUIPart | DynamicToolUIPart;

/** The tool under whose name ADK asks the user. */
const QUESTION = "adk_request_input";

type ToolCardProps = Answers & {
  part: ToolPart;
  name: string;
  confirmation: Confirmation | undefined;
  /** Why the tool asks for approval. */
  reason: string | undefined;
  /** How far the tool is. */
  progress: Reported | undefined;
  /** What the tool returned although it was denied. */
  denial: unknown;
  /** It waits for a credential, which is another call's output. */
  gated: boolean;
  /** The agent that makes the call. */
  agent: string | undefined;
};

/** A call. It is one line, unless it has something to show by itself or the reader opens it. */
export function ToolCard({ part, name, confirmation, reason, progress, denial, gated, agent, ...answers }: ToolCardProps) {
  const { passed, stopped, onApproval, onOutput } = answers;
  const answerable = answers.answerable && !stopped;
  const [chosen, choose] = useState<boolean>();
  const waits = part.state === "input-available" && !part.providerExecuted && answerable;
  const asks = part.state === "approval-requested" && answerable;
  const seconds = useSeconds(part.state === "input-available" && !answerable && !passed && !stopped);
  const argument = firstArgument(part);
  const asksInside = answerable && asksSomebody(part, answers.asked);
  const open = chosen ?? (showsItself(part, answers) && !(waits && gated));
  return (
    <section
      role="group" // not a landmark: two calls may have one name
      data-tool={getToolName(part)}
      data-state={part.state}
      aria-label={`Tool ${name}`}
      className="min-w-0 overflow-hidden rounded-xl border bg-card text-sm"
    >
      <Collapsible
        open={open}
        onOpenChange={choose}
        summaryClassName="w-full min-w-0 px-3.5 py-2.5 -outline-offset-2"
        summary={
          <>
            <Wrench className="size-4 shrink-0 text-muted-foreground" aria-hidden />
            <bdi className="min-w-0 shrink-0 truncate font-medium max-sm:shrink" title={getToolName(part)}>
              {name}
            </bdi>
            {argument !== undefined && (
              <bdi className="min-w-0 shrink-[9999] truncate text-muted-foreground" data-argument>
                {argument}
              </bdi>
            )}
            <ToolState
              part={part}
              waiting={waits || asksInside ? (gated ? "credential" : "user") : undefined}
              passed={passed}
              stopped={stopped}
              seconds={seconds}
            />
          </>
        }
      >
        <div className="flex flex-col gap-3 px-3.5 pb-3.5 empty:hidden">
          {!asks && !(waits && (isQuestion(part) || getToolName(part) === CREDENTIAL)) && <Input part={part} />}
          {part.state === "output-available" && <Result part={part} {...answers} />}
          {part.state === "output-denied" && denial !== undefined && <Output value={denial} />}
          {part.state === "output-error" && !isUnanswered(part) && !isCutOff(part, stopped) && (
            <p role="alert" dir="auto" className="whitespace-pre-wrap text-destructive wrap-anywhere">
              {part.errorText}
            </p>
          )}
          {part.approval?.reason && (
            <p dir="auto" className="text-muted-foreground wrap-anywhere">
              {part.approval.approved ? "You said" : "Your reason"}: {part.approval.reason}
            </p>
          )}
        </div>
      </Collapsible>
      {progress !== undefined && isRunning(part, answers) && <Progress {...progress} />}
      {part.state === "approval-requested" && answerable && (
        <Approval
          id={part.approval.id}
          agent={agent}
          tool={name}
          input={part.input}
          confirmation={confirmation}
          reason={reason}
          onApproval={onApproval}
        />
      )}
      {waits && !gated && <Answer part={part} onOutput={onOutput} />}
    </section>
  );
}

/** Return true for a call that has ended, or that a stop or a later message has overtaken. */
export function isOver(part: ToolPart, { passed, stopped }: Pick<Answers, "passed" | "stopped">): boolean {
  if (isCutOff(part, stopped)) return true;
  if (part.state === "output-available") return part.preliminary !== true;
  if (part.state === "output-error" || part.state === "output-denied") return true;
  return passed && ["input-available", "approval-requested"].includes(part.state);
}

/** Return true for a call that waits for the user, or will once the response is over. */
function asksUser(part: ToolPart, { answerable, passed, stopped, asked }: Answers): boolean {
  if (stopped) return false;
  if (answerable && asksSomebody(part, asked)) return true;
  if (part.state === "approval-requested") return !passed;
  return part.state === "input-available" && answerable && !part.providerExecuted;
}

/** Return true for a call with more to show than its line: growing arguments, a question, an agent's work, or a failure. */
export function showsItself(part: ToolPart, answers: Answers): boolean {
  if (isCutOff(part, answers.stopped)) return false;
  if (part.state === "input-streaming") return part.input !== undefined;
  if (part.state === "output-available" && part.preliminary) return true;
  if (isUnanswered(part)) return false;
  if (["approval-responded", "output-error", "output-denied"].includes(part.state)) return true;
  return asksUser(part, answers);
}

/** An agent inside waits for an answer. */
function asksSomebody(part: ToolPart, asked: ToolPart[] | undefined): boolean {
  const inside = callsInside([part]);
  const waiting = asked?.filter(({ state }) => state === "approval-requested" || state === "input-available");
  return waiting?.some(({ toolCallId }) => inside.has(toolCallId)) ?? false;
}

/** Its tool has begun, and has not ended. */
function isRunning(part: ToolPart, answers: Answers): boolean {
  return ["input-available", "approval-responded", "output-available"].includes(part.state) && !isOver(part, answers);
}

/** What tells two calls of one tool apart: the first value that goes into each. */
export function firstArgument(part: ToolPart): string | undefined {
  const values = isObject(part.input) && !isQuestion(part) && getToolName(part) !== CREDENTIAL ? Object.values(part.input) : [];
  const first = values.find((value) => (typeof value === "string" && value !== "") || typeof value === "number");
  return first === undefined ? undefined : String(first);
}

/** What came out: of a sign-in only that it was given, of an agent its whole work. */
function Result({ part, ...answers }: Answers & { part: ToolPart }) {
  if (getToolName(part) === CREDENTIAL) return <p>Signed in</p>;
  const nested = nestedMessageOf(part);
  const live = "preliminary" in part && part.preliminary === true;
  if (nested) return <Nested part={part} message={nested} live={live} {...answers} />;
  if (isQuestion(part)) return <Answered output={part.output} />;
  return <Output value={part.output} />;
}

/** The user's answer to a question. ADK puts a single value below `result`. */
function Answered({ output }: { output: unknown }) {
  const only = isObject(output) && Object.keys(output).length === 1 && "result" in output ? output["result"] : output;
  if (isObject(only)) return <Fields value={only} label="your answer" />;
  return (
    <p dir="auto" className="font-medium wrap-anywhere">
      {typeof only === "string" ? only : JSON.stringify(only)}
    </p>
  );
}

/** The arguments, growing while they stream. */
function Input({ part }: { part: ToolPart }) {
  const input = part.input ?? ("rawInput" in part ? part.rawInput : undefined);
  if (input === undefined || (isObject(input) && Object.keys(input).length === 0)) return null;
  if (getToolName(part) === CREDENTIAL) return null; // its keys are ADK's own
  if (isQuestion(part) && isObject(input)) return <p dir="auto">{String(input["message"])}</p>;
  return <LabelledFields value={input} live={part.state === "input-streaming"} />;
}

/** The agent asks the user by this call: the form says what, and by which schema. */
function isQuestion(part: ToolPart): boolean {
  return getToolName(part) === QUESTION && isObject(part.input) && typeof part.input["message"] === "string";
}
