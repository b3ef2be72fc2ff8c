// After which responses the real clients send again. One JSON object a line on stdin: {"body": "<the SSE text>"}
// and one a line on stdout, in the same order: by the name of each client, whether it sends again.
import { createInterface } from 'node:readline';
import { openChat, Server, settle } from '../harness/chat.js';
import { CLIENTS } from '../harness/clients.js';

async function sendsAgain(client, body) {
  const server = new Server([new TextEncoder().encode(body)]);
  const chat = openChat(client, { fetch: server.fetch, id: 'chat' });
  await chat.sendMessage({ text: 'go' });
  await settle(chat);
  return server.requests.length > 1;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { body } = JSON.parse(line);
  const sent = await Promise.all(CLIENTS.map(async client => [client.name, await sendsAgain(client, body)]));
  console.log(JSON.stringify(Object.fromEntries(sent)));
}
