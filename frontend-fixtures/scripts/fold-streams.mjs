// Folds response bodies with the real client. One JSON object a line on stdin:
//   {"ai": 6 | 7, "body": "<the SSE text>", "messages": [UIMessage], "trigger": "submit" | "resume"}
// and one a line on stdout, in the same order: what that client makes of it.
import { createInterface } from 'node:readline';

const clients = { 6: await import('ai-v6'), 7: await import('ai-v7') };

/** The state that `useChat` keeps (`ReactChatState`), without React. */
class ListState {
  status = 'ready';
  error = undefined;

  constructor(messages) {
    this.messages = messages;
  }

  pushMessage = message => {
    this.messages = this.messages.concat(message);
  };

  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };

  replaceMessage = (index, message) => {
    this.messages = this.messages.with(index, this.snapshot(message));
  };

  snapshot = value => structuredClone(value);
}

async function fold({ ai, body, messages, trigger }) {
  const { AbstractChat, DefaultChatTransport } = clients[ai];
  const seen = { data: [], finish: undefined };
  class Chat extends AbstractChat {}
  const chat = new Chat({
    id: 'chat',
    generateId: () => 'new',
    state: new ListState(messages),
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
