// Real chats in which versions are chosen, before a running server. One JSON object a line on stdin:
//   {"ai": 6 | 7, "url": "<where the server is>", "id": "<the chat's>", "body": {…}, "steps": [step]}
// A step is `{text}`, `{edit, text}` (the index of a message), `{regenerate}`, `{approve}` (true or false, the call that
// waits), `{choose: [index of a message, index of a version]}`, `{reload}` or `{write}` (state).
// One a line on stdout: for each step the messages on the page, those on the server, its versions and its state.
import { createInterface } from 'node:readline';
import { openChat, settle } from '../harness/chat.js';

const CLIENTS = { 6: { ai: await import('ai-v6') }, 7: { ai: await import('ai-v7') } };

const asJson = (method, body) => ({ method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

async function visit({ ai, url, id, body, steps }) {
  const api = `${url}/api/chat`;
  const load = async () => (await fetch(`${api}/${id}`)).json();
  const open = messages => openChat(CLIENTS[ai], { id, api, body, messages });
  let chat = open();
  const seen = [];
  for (const step of steps) {
    if ('edit' in step) await chat.sendMessage({ text: step.text, messageId: chat.messages[step.edit].id });
    else if ('text' in step) await chat.sendMessage({ text: step.text });
    else if ('regenerate' in step) await chat.regenerate();
    else if ('reload' in step) chat = open((await load()).messages);
    else if ('write' in step) await fetch(`${api}/${id}/state`, asJson('PATCH', step.write));
    else if ('approve' in step) {
      const call = chat.messages.at(-1).parts.find(({ state }) => state === 'approval-requested');
      await chat.addToolApprovalResponse({ id: call.approval.id, approved: step.approve });
    } else {
      const [message, version] = step.choose;
      const { ids } = (await load()).versions.find(({ messageId }) => messageId === chat.messages[message].id);
      chat.messages = (await (await fetch(`${api}/${id}/branch`, asJson('POST', { version: ids[version] }))).json()).messages;
    }
    await settle(chat);
    const { messages: stored, versions = [], state } = await load();
    seen.push({ messages: chat.messages, stored, versions, state, error: chat.error?.message ?? null });
  }
  return seen;
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await visit(JSON.parse(line))));
}
