import {
  type ChatAddToolOutputFunction,
  type DataUIPart,
  type DynamicToolUIPart,
  getToolName,
  isDataUIPart,
  isToolUIPart,
  type ToolUIPart,
  type UIMessage,
  type UIMessagePart,
  type UITools,
} from "ai";

/** What the server puts on the end of a message. */
type Metadata = { modelId?: string; usage?: { inputTokens?: number; outputTokens?: number } };

/** The parts that the server makes of ADK's events. Those of your own, of `emit_data`, come to these. */
type Data = {
  "adk-agent": { agent: string };
  "adk-artifact": { name: string; version: number; url?: string };
  "adk-confirmation": Confirmation;
  "adk-denial": Denial;
  "adk-file": { uri: string; mediaType?: string; filename?: string };
  "adk-output": { author?: string; node?: string; output: unknown };
};

/** What a tool says when it asks for approval by itself, and the payload that it would like back. */
export type Confirmation = { toolCallId: string; hint?: string; payload?: unknown };

/** What a tool returned although its call was denied. */
type Denial = { toolCallId: string; output: unknown };

export type ChatMessage = UIMessage<Metadata, Data>;
export type ChatPart = UIMessagePart<Data, UITools>;
export type ChatDataPart = DataUIPart<Data>;
export type ToolPart = ToolUIPart | DynamicToolUIPart;
export type AddToolOutput = ChatAddToolOutputFunction<ChatMessage>;
export type Values = Record<string, unknown>;

/** The tool under whose name ADK asks the user for something. */
export const QUESTION = "adk_request_input";

/** The tool under whose name ADK asks for a credential. */
export const CREDENTIAL = "adk_request_credential";

/** What was written in a message, without its files, thoughts and calls. */
export function textOf(message: ChatMessage): string {
  return message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

/** What the tool of a call has said, if it has asked for approval by itself. */
export function confirmationOf(message: ChatMessage, toolCallId: string): Confirmation | undefined {
  return message.parts.flatMap((part) =>
    part.type === "data-adk-confirmation" && part.data.toolCallId === toolCallId ? [part.data] : [],
  )[0];
}

/** What the tool of a call that was denied has returned, if it ran to hear that. */
export function denialOf(message: ChatMessage, toolCallId: string): Denial | undefined {
  return message.parts.flatMap((part) =>
    part.type === "data-adk-denial" && part.data.toolCallId === toolCallId ? [part.data] : [],
  )[0];
}

/** Whether a call waits for a credential that another call of the message asks for: nobody can answer it itself. */
export function needsCredential(message: ChatMessage, toolCallId: string): boolean {
  return message.parts.some(
    (part) =>
      !isDataUIPart(part) &&
      isToolUIPart(part) &&
      getToolName(part) === CREDENTIAL &&
      isObject(part.input) &&
      part.input["functionCallId"] === toolCallId,
  );
}

export function isObject(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
