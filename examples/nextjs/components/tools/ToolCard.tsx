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
  /** True if pending calls can be answered: the response has ended, and the message is the last one. */
  answerable: boolean;
  /** True if there is a later message, so pending calls can no longer be answered. */
  passed: boolean;
  /** True if the user stopped the message, so its open calls stay without a result. */
  stopped: boolean;
  onApproval: OnApproval;
  onOutput: OnOutput;
  /** All calls of the message, including questions of agents that run as tools. */
  asked?: ToolPart[];
};

export type ToolPart = ToolUIPart | DynamicToolUIPart;

/** The tool with which ADK asks the user for input. */
const QUESTION = "adk_request_input";

type ToolCardProps = Answers & {
  part: ToolPart;
  name: string;
  confirmation: Confirmation | undefined;
  /** The reason why the call needs approval. */
  reason: string | undefined;
  /** Progress of the tool. */
  progress: Reported | undefined;
  /** The output that the tool returned for a denied call. */
  denial: unknown;
  /** The call that requests a credential for this call. */
  credential: ToolPart | undefined;
  /** The agent that makes the call. */
  agent: string | undefined;
};

/** A tool call. It is one line, unless it has more to show or the user opens it. */
export function ToolCard({ part, name, confirmation, reason, progress, denial, credential, agent, ...answers }: ToolCardProps) {
  const { passed, stopped, onApproval, onOutput } = answers;
  const answerable = answers.answerable && !stopped;
  const [chosen, choose] = useState<boolean>();
  const waits = part.state === "input-available" && !part.providerExecuted && answerable;
  const asks = part.state === "approval-requested" && answerable;
  const seconds = useSeconds(part.state === "input-available" && !answerable && !passed && !stopped);
  const argument = firstArgument(part);
  const asksInside = answerable && asksSomebody(part, answers.asked);
  const open = chosen ?? (showsItself(part, answers) && !(waits && credential));
  return (
    <section
      role="group" // not a landmark, because two calls may have the same name
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
              waiting={waits || asksInside ? (credential ? "credential" : "user") : undefined}
              passed={passed}
              stopped={stopped}
              seconds={seconds}
            />
          </>
        }
      >
        <div className="flex flex-col gap-3 px-3.5 pb-3.5 empty:hidden">
          {!asks && !(waits && (isQuestion(part) || getToolName(part) === CREDENTIAL)) && <Input part={part} />}
          {credential?.state === "output-available" && <p className="text-muted-foreground">Signed in</p>}
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
      {waits && <Answer part={credential ?? part} onOutput={onOutput} />}
    </section>
  );
}

/** Return true for a call that has ended, or was cancelled by a stop or a later message. */
export function isOver(part: ToolPart, { passed, stopped }: Pick<Answers, "passed" | "stopped">): boolean {
  if (isCutOff(part, stopped)) return true;
  if (part.state === "output-available") return part.preliminary !== true;
  if (part.state === "output-error" || part.state === "output-denied") return true;
  return passed && ["input-available", "approval-requested"].includes(part.state);
}

/** Return true for a call that waits for the user, or will wait when the response ends. */
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

/** Return true if an agent inside the call waits for an answer. */
function asksSomebody(part: ToolPart, asked: ToolPart[] | undefined): boolean {
  const inside = callsInside([part]);
  const waiting = asked?.filter(({ state }) => state === "approval-requested" || state === "input-available");
  return waiting?.some(({ toolCallId }) => inside.has(toolCallId)) ?? false;
}

/** Return true if the tool is running. */
function isRunning(part: ToolPart, answers: Answers): boolean {
  return ["input-available", "approval-responded", "output-available"].includes(part.state) && !isOver(part, answers);
}

/** A short label to distinguish calls of the same tool: the first value of the input. */
export function firstArgument(part: ToolPart): string | undefined {
  const values = isObject(part.input) && !isQuestion(part) && getToolName(part) !== CREDENTIAL ? Object.values(part.input) : [];
  const first = values.find((value) => (typeof value === "string" && value !== "") || typeof value === "number");
  return first === undefined ? undefined : String(first);
}

/** The output of a call. A sign-in shows only that it was provided, and an agent shows all its parts. */
function Result({ part, ...answers }: Answers & { part: ToolPart }) {
  if (getToolName(part) === CREDENTIAL) return <p>Signed in</p>;
  const nested = nestedMessageOf(part);
  const live = "preliminary" in part && part.preliminary === true;
  if (nested) return <Nested part={part} message={nested} live={live} {...answers} />;
  if (isQuestion(part)) return <Answered output={part.output} />;
  return <Output value={part.output} />;
}

/** The user's answer to a question. ADK wraps a single value in `result`. */
function Answered({ output }: { output: unknown }) {
  const only = isObject(output) && Object.keys(output).length === 1 && "result" in output ? output["result"] : output;
  if (isObject(only)) return <Fields value={only} label="your answer" />;
  return (
    <p dir="auto" className="font-medium wrap-anywhere">
      {typeof only === "string" ? only : JSON.stringify(only)}
    </p>
  );
}

/** The arguments of a call, also while they are streaming. */
function Input({ part }: { part: ToolPart }) {
  const input = part.input ?? ("rawInput" in part ? part.rawInput : undefined);
  if (input === undefined || (isObject(input) && Object.keys(input).length === 0)) return null;
  if (getToolName(part) === CREDENTIAL) return null; // its arguments are internal to ADK
  if (isQuestion(part) && isObject(input)) return <p dir="auto">{String(input["message"])}</p>;
  return <LabelledFields value={input} live={part.state === "input-streaming"} />;
}

/** A call with which the agent asks the user. The form shows the question and follows the schema. */
function isQuestion(part: ToolPart): boolean {
  return getToolName(part) === QUESTION && isObject(part.input) && typeof part.input["message"] === "string";
}
