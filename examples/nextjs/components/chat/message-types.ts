import {
  type DynamicToolUIPart,
  type FileUIPart,
  isDataUIPart,
  isToolUIPart,
  type ToolUIPart,
  type UIDataTypes,
  type UIMessage,
  type UIMessagePart,
  type UITools,
} from "ai";

/** Metadata that the server sends with the `finish` chunk. */
export type ChatMetadata = {
  modelId?: string;
  usage?: {
    inputTokens?: number;
    outputTokens?: number;
    totalTokens?: number;
    outputTokenDetails?: { reasoningTokens?: number };
  };
};

export type ChatMessage = UIMessage<ChatMetadata>;

/** A message with several versions: the user's if it was edited, the agent's if it was generated again. */
export type MessageVersions = { messageId: string; current: number; ids: string[] };

/** A stored chat. */
export type StoredChat = {
  messages: ChatMessage[];
  versions?: MessageVersions[];
  /** The messages whose answer was stopped: the agent's, or the user's if the agent has shown nothing. */
  stopped?: string[];
  /** The messages whose answer ended with an error. `errorText` is absent if the server does not know it. */
  failed?: { messageId: string; errorText?: string }[];
};

/** The reason why a reply is incomplete. */
export type Outcome = { type: "stopped" } | { type: "failed"; errorText?: string };

/** The outcome of each incomplete reply, by message id. */
export type Outcomes = ReadonlyMap<string, Outcome>;

export function outcomesOf({ stopped = [], failed = [] }: Pick<StoredChat, "stopped" | "failed">): Outcomes {
  return new Map([
    ...stopped.map((id): [string, Outcome] => [id, { type: "stopped" }]),
    ...failed.map(({ messageId, ...told }): [string, Outcome] => [messageId, { type: "failed", ...told }]),
  ]);
}

export type ChatPart = UIMessagePart<UIDataTypes, UITools>;

/** The agent that wrote a text or reasoning part. */
export function speakerOf(part: ChatPart): string | undefined {
  if (part.type !== "text" && part.type !== "reasoning") return undefined;
  const author = part.providerMetadata?.["adk"]?.["author"];
  return typeof author === "string" ? author : undefined;
}

/** The agent that makes a call: the last agent that wrote a part or took over before the call in the message. */
export function callerOf(message: ChatMessage, call: ChatPart): string | undefined {
  const before = message.parts.slice(0, message.parts.indexOf(call));
  return before.map((part) => speakerOf(part) ?? handedOverTo(part)).findLast((name) => name !== undefined);
}

function handedOverTo(part: ChatPart): string | undefined {
  return part.type === "data-adk-agent" ? (part.data as { agent?: string }).agent : undefined;
}

/** The text with which a tool asks for approval, and the payload that it expects in the answer. */
export type Confirmation = { toolCallId: string; hint?: string; payload?: unknown };

export const CONFIRMATION = "data-adk-confirmation";

/** Progress of a running tool. */
export type Progress = { progress: number; total?: number; message?: string };

export const PROGRESS = "data-adk-progress";

/** Reason and descriptor of an approval, for `ai` 6, whose `approval` cannot hold them. */
export const APPROVAL = "data-adk-approval";

/** The data that the message has about a call, in parts of this type. */
function dataOf<T>(message: ChatMessage, type: string, toolCallId: string): T | undefined {
  return message.parts
    .filter(isDataUIPart)
    .filter((part) => part.type === type)
    .map((part) => part.data as T & { toolCallId: string })
    .find((data) => data.toolCallId === toolCallId);
}

/** The text and payload with which the tool of this call has asked for approval. */
export function confirmationOf(message: ChatMessage, toolCallId: string): Confirmation | undefined {
  return dataOf<Confirmation>(message, CONFIRMATION, toolCallId);
}

/** The last progress that the tool of this call has reported. */
export function progressOf(message: ChatMessage, toolCallId: string): Progress | undefined {
  return dataOf<Progress>(message, PROGRESS, toolCallId);
}

/** The reason why the call needs approval. `ai` 7 has it in the approval, `ai` 6 in a data part. */
export function approvalReasonOf(message: ChatMessage, call: { toolCallId: string; approval?: object }): string | undefined {
  const approval: { requestReason?: string } = call.approval ?? {};
  return approval.requestReason ?? dataOf<{ reason?: string }>(message, APPROVAL, call.toolCallId)?.reason;
}

/** The input that the agent needs from the user before it can continue. */
export function neededFor({ parts }: ChatMessage): "approval" | "input" | undefined {
  const calls = parts.filter(isToolUIPart);
  if (calls.some(({ state }) => state === "approval-requested")) return "approval";
  return calls.some(({ state, providerExecuted }) => state === "input-available" && !providerExecuted) ? "input" : undefined;
}

/** The output of a denied call whose tool ran to handle the denial. */
export function denialOf(message: ChatMessage, toolCallId: string): unknown {
  return dataOf<{ output: unknown }>(message, "data-adk-denial", toolCallId)?.output;
}

export const CITATIONS = "data-adk-citations";

/** The message of an agent that runs as a tool. `result` is what the calling agent reads. */
export type NestedMessage = UIMessage<ChatMetadata & { result?: unknown; omittedEvents?: number; stopped?: boolean }>;

/** The message of the agent that runs inside this call: the call's output, with the call's id. */
export function nestedMessageOf(part: ToolUIPart | DynamicToolUIPart): NestedMessage | undefined {
  const output = part.output as Partial<NestedMessage> | null | undefined;
  const isMessage = output?.id === part.toolCallId && output.role === "assistant" && Array.isArray(output.parts);
  return isMessage ? (output as NestedMessage) : undefined;
}

/** The ids of the calls inside agents that run as tools, at any depth. */
export function callsInside(parts: ChatPart[]): Set<string> {
  const inside = parts.filter(isToolUIPart).flatMap((part) => nestedMessageOf(part)?.parts ?? []);
  const calls = inside.filter(isToolUIPart).map(({ toolCallId }) => toolCallId);
  return inside.length === 0 ? new Set() : new Set([...calls, ...callsInside(inside)]);
}

/** Return true for a stored call that the user did not answer before a later message. */
export function isUnanswered(part: ToolUIPart | DynamicToolUIPart): boolean {
  return part.state === "output-error" && part.callProviderMetadata?.["adk"]?.["unanswered"] === true;
}

/**
 * The server's error texts for calls that ended with their run. Only the text distinguishes them from calls whose tool
 * failed, because `ai` 6 has no field for more on an error.
 */
const CUT_OFF_TEXTS = ["The run was stopped before the tool finished.", "The run failed before the tool finished."];

/** The same texts for a call inside an agent. In a stopped reply, the stop is the reason. */
const NO_RESULT_TEXT = "The tool gave no result.";

/** Return true for a call that has no result because its reply ended first. `stopped`: the message ends with a stop. */
export function isCutOff(part: ToolUIPart | DynamicToolUIPart, stopped: boolean): boolean {
  switch (part.state) {
    case "output-denied":
      return false;
    case "output-error":
      return CUT_OFF_TEXTS.includes(part.errorText) || (stopped && part.errorText === NO_RESULT_TEXT);
    case "output-available":
      return nestedMessageOf(part)?.metadata?.stopped === true || (stopped && part.preliminary === true);
    case "approval-responded":
      return stopped && part.approval.approved;
    default:
      return stopped;
  }
}

/** The typed text and attached files of an unsent message. */
export type Draft = { text: string; files: FileUIPart[] };

/** The text of a message, without files, reasoning and calls. */
export function textOf(message: ChatMessage): string {
  return message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

export function filesOf(message: ChatMessage): FileUIPart[] {
  return message.parts.filter((part) => part.type === "file");
}
