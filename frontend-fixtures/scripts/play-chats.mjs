// Real chats before a replay server. One JSON object a line on stdin:
//   {"ai": 6 | 7, "url": "<where the server is>", "id": "<the chat's>", "turns": [[action]]}
// and one a line on stdout, in the same order: the messages on the page, those on the server, and the last error.
import { createInterface } from 'node:readline';
import { act, openChat, settle } from '../harness/chat.js';

const CLIENTS = { 6: { ai: await import('ai-v6') }, 7: { ai: await import('ai-v7') } };

async function play({ ai, url, id, turns }) {
  const chat = openChat(CLIENTS[ai], { id, api: `${url}/api/chat` });
  for (const actions of turns) {
    for (const action of actions) await act(chat, action);
    await settle(chat);
  }
  const { messages: stored } = await (await fetch(`${url}/api/chat/${id}`)).json();
  return { messages: chat.messages, stored, error: chat.error?.message ?? null };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await play(JSON.parse(line))));
}
