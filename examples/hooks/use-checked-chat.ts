import { useChat } from "@ai-sdk/react";
import { safeValidateUIMessages } from "ai";
import { type ChatMessage, dataPartSchemas, messageMetadataSchema, toolSchemas } from "./chat-types";

export const useCheckedChat = () => useChat<ChatMessage>({ dataPartSchemas, messageMetadataSchema });

export const validate = (messages: unknown[]) =>
  safeValidateUIMessages<ChatMessage>({
    messages,
    dataSchemas: dataPartSchemas,
    metadataSchema: messageMetadataSchema,
    tools: toolSchemas,
  });
