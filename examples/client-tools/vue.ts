import { Chat } from "@ai-sdk/vue";
import * as ai from "ai";

export const chat: Chat<ai.UIMessage> = new Chat({
  onToolCall: ({ toolCall: { toolName, toolCallId } }) => {
    if (toolName === "locate") void chat.addToolOutput({ tool: "locate", toolCallId, output: { city: "Oslo" } });
  },
  sendAutomaticallyWhen: (options) => // the second helper is for approvals
    ai.lastAssistantMessageIsCompleteWithToolCalls(options) ||
    ai.lastAssistantMessageIsCompleteWithApprovalResponses(options),
});
