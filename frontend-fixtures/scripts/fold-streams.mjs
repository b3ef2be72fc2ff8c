// Folds response bodies with the real client. One JSON object a line on stdin:
//   {"ai": 6 | 7, "body": "<the SSE text>", "messages": [UIMessage], "trigger": "submit" | "resume"}
// and one a line on stdout, in the same order: what that client makes of it.
import { createInterface } from 'node:readline';
import { ChatState } from '../harness/chat.js';

const clients = { 6: await import('ai-v6'), 7: await import('ai-v7') };

async function fold({ ai, body, messages, trigger }) {
  const { AbstractChat, DefaultChatTransport } = clients[ai];
  const seen = { data: [], finish: undefined };
  class Chat extends AbstractChat {}
  const chat = new Chat({
    id: 'chat',
    generateId: () => 'new',
    state: new ChatState(messages),
    transport: new DefaultChatTransport({ fetch: async () => new Response(body) }),
    onData: part => seen.data.push(structuredClone(part)),
    onFinish: finish => {
      seen.finish = finish;
    },
  });
  await (trigger === 'resume' ? chat.resumeStream() : chat.sendMessage());
  const { error } = chat;
  return {
    status: chat.status,
    message: seen.finish.message,
    finishReason: seen.finish.finishReason,
    data: seen.data,
    error: error && { name: error.name, message: error.message, chunkType: error.chunkType, chunkId: error.chunkId },
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await fold(JSON.parse(line))));
}
