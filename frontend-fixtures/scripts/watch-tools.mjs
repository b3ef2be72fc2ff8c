// Pages before a running server whose tools wait until they are seen. One JSON object a line on stdin:
//   {"ai": 6 | 7, "url": "<where the chat's app is>", "sees": ["<type of a part>"]}
// and one a line on stdout: the page's last message when it saw each of these parts (a transient one comes through
// `onData`), what a second tab showed then, and in the end what both show and what is stored.
import { createInterface } from 'node:readline';
import { openChat, settle } from '../harness/chat.js';

const CLIENTS = { 6: { ai: await import('ai-v6') }, 7: { ai: await import('ai-v7') } };
const turn = () => new Promise(resolve => setTimeout(resolve, 1));

async function watch({ ai, url, sees }) {
  const heard = [];
  const open = messages =>
    openChat(CLIENTS[ai], { id: 'c1', api: `${url}/api/chat`, messages, onData: part => heard.push(part) });
  const first = open([]);
  const second = open([{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }]);
  let over = false;
  first.sendMessage({ text: 'hi' }).finally(() => (over = true));
  const has = (chat, type) => chat.messages.at(-1)?.parts.some(part => part.type === type);
  const until = async isTrue => {
    while (!isTrue()) {
      if (over) throw new Error(`it was over before: ${first.error}`);
      await turn();
    }
  };
  const seen = [];
  for (const type of sees) {
    await until(() => has(first, type) || heard.some(part => part.type === type));
    if (seen.length === 0) second.resumeStream();
    const isInMessage = has(first, type);
    await until(() => !isInMessage || has(second, type));
    seen.push(structuredClone({ first: first.messages.at(-1), second: second.messages.at(-1), heard }));
    await fetch(`${url}/release`, { method: 'POST' });
  }
  await settle(first);
  await settle(second);
  const { messages: stored } = await (await fetch(`${url}/api/chat/c1`)).json();
  return { seen, heard, first: first.messages, second: second.messages, stored, error: first.error?.message ?? null };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await watch(JSON.parse(line))));
}
