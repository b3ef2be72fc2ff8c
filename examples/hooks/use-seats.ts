import { useChat } from "@ai-sdk/react";
import * as ai from "ai";

const approvalPayloads: Record<string, unknown> = {};
const transport = new ai.DefaultChatTransport({ body: () => ({ approvalPayloads }) });

export function useSeats() {
  const { messages, addToolApprovalResponse } = useChat({
    transport,
    sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const choose = (id: string, seat: string) => {
    approvalPayloads[id] = { seat };
    void addToolApprovalResponse({ id, approved: true });
  };
  return { messages, choose };
}
