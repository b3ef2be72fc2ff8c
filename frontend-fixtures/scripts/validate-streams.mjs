// Holds response bodies against the schemas of `adk-ui-stream types --schemas`, with the real client. Its argument is the
// module of the schemas. One JSON object a line on stdin: {"ai": 6 | 7, "body": "<the SSE text>"}, and one a line on
// stdout, in the same order: {"streamed", "validated"}, each null or why it was refused: by the chat while it streamed, and
// by `validateUIMessages` when it had ended.
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { ChatState } from '../harness/chat.js';

const clients = { 6: await import('ai-v6'), 7: await import('ai-v7') };
const { dataPartSchemas, messageMetadataSchema, toolSchemas } = await import(pathToFileURL(process.argv[2]));

async function validate({ ai, body }) {
  const { AbstractChat, DefaultChatTransport, safeValidateUIMessages } = clients[ai];
  class Chat extends AbstractChat {}
  const chat = new Chat({
    state: new ChatState([]),
    transport: new DefaultChatTransport({ fetch: async () => new Response(body) }),
    messageMetadataSchema,
    dataPartSchemas,
    onError: () => {},
  });
  await chat.sendMessage({ text: 'hi' });
  const { success, error } = await safeValidateUIMessages({
    messages: chat.messages,
    metadataSchema: messageMetadataSchema,
    dataSchemas: dataPartSchemas,
    tools: toolSchemas,
  });
  return { streamed: chat.error?.message ?? null, validated: success ? null : error.message };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await validate(JSON.parse(line))));
}
