import type { UIMessage, UIMessagePart, UIDataTypes, UITools } from "ai";

/** What the server puts on `finish`. */
export type ChatMetadata = {
  modelId?: string;
  usage?: {
    inputTokens?: number;
    outputTokens?: number;
    totalTokens?: number;
    reasoningTokens?: number;
  };
};

export type ChatMessage = UIMessage<ChatMetadata>;
export type ChatPart = UIMessagePart<UIDataTypes, UITools>;

/** The agent that wrote a text or reasoning part. */
export function speakerOf(part: ChatPart): string | undefined {
  if (part.type !== "text" && part.type !== "reasoning") return undefined;
  const author = part.providerMetadata?.["adk"]?.["author"];
  return typeof author === "string" ? author : undefined;
}
