import {
  type ChatAddToolOutputFunction,
  type DataUIPart,
  type DynamicToolUIPart,
  getToolName,
  isDataUIPart,
  isToolUIPart,
  type ToolUIPart,
  type UIMessagePart,
} from "ai";
import type { AdkConfirmation, AdkDenial, ChatDataParts, ChatMessage, ChatTools } from "./chat-types";

export type { ChatMessage };
export type ChatPart = UIMessagePart<ChatDataParts, ChatTools>;
export type ChatDataPart = DataUIPart<ChatDataParts>;
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
export function confirmationOf(message: ChatMessage, toolCallId: string): AdkConfirmation | undefined {
  return message.parts.flatMap((part) =>
    part.type === "data-adk-confirmation" && part.data.toolCallId === toolCallId ? [part.data] : [],
  )[0];
}

/** What the tool of a call that was denied has returned, if it ran to hear that. */
export function denialOf(message: ChatMessage, toolCallId: string): AdkDenial | undefined {
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
