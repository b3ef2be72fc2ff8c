// `ai` in Node: streamText, toUIMessageStream and createUIMessageStreamResponse, as the SDK's docs use them:
// 03-chatbot-message-persistence.mdx and 03-chatbot-tool-usage.mdx.

import { createUIMessageStreamResponse, generateId, streamText, toUIMessageStream } from "ai";
import { readMessages, serve, streamOptions } from "./ai_node_agent.mjs";

async function chat(request) {
  const { messages, refusal } = await readMessages(request);
  if (refusal) return refusal;
  const result = streamText(await streamOptions(messages, request.signal));
  return createUIMessageStreamResponse({
    stream: toUIMessageStream({
      stream: result.stream,
      originalMessages: messages,
      generateMessageId: generateId,
    }),
  });
}

serve({ "POST /api/chat": chat });
