// The files of examples/chatbot-template before a running server, used as the template's page uses them. One JSON object on
// stdin: {"folder": "<where they are>", "bundler": "<rolldown>"}; AGENT_URL names the server. One on stdout: what came.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openChat, settle } from '../harness/chat.js';

const { folder, bundler } = JSON.parse(readFileSync(process.stdin.fd, 'utf8'));
const { build } = await import(pathToFileURL(bundler));

async function load(route) {
  const file = join(folder, `${route.replaceAll(/\W/g, '')}.mjs`);
  const alias = { '@': folder, 'server-only': join(folder, 'server-only.ts') };
  await build({ input: join(folder, 'app/(chat)', route, 'route.ts'), resolve: { alias }, output: { file }, logLevel: 'silent' });
  return import(pathToFileURL(file));
}

const routes = {
  '/api/chat': await load('api/chat'),
  '/api/chat/:id/stream': await load('api/chat/[id]/stream'),
  '/api/messages': await load('api/messages'),
  '/api/history': await load('api/history'),
};

/** What Next.js does with a request of the page. */
function ask(path, { signal, method = 'GET', headers, body } = {}) {
  const request = new Request(`http://page.example${path}`, { signal, method, headers, body });
  const { pathname } = new URL(request.url);
  const [, id] = pathname.match(/^\/api\/chat\/([^/]+)\/stream$/) ?? [];
  const route = routes[id ? '/api/chat/:id/stream' : pathname];
  return route[method](request, { params: Promise.resolve({ id }) });
}

const getJson = async path => (await ask(path)).json();

async function talk({ ai }) {
  const open = (id, messages) => openChat({ ai }, { id, api: '/api/chat', fetch: ask, messages, sends: 'adapted' });
  const first = open('c1');
  await first.sendMessage({ text: 'pay' });
  await settle(first);
  const { approval } = first.messages.at(-1).parts.find(part => part.type === 'tool-pay');
  await first.addToolApprovalResponse({ id: approval.id, approved: true });
  await settle(first);
  await open('c2').sendMessage({ text: 'pay' });
  const { messages } = await getJson('/api/messages?chatId=c1');
  const reloaded = open('c1', messages);
  await reloaded.resumeStream(); // nothing runs
  const newest = await getJson('/api/history?limit=1');
  const next = await getJson(`/api/history?cursor=${newest.nextCursor}&limit=1`);
  const refused = await ask('/api/chat', { method: 'POST', body: '{}' });
  const refusal = { status: refused.status, text: await refused.text() };
  await ask('/api/chat?id=c1', { method: 'DELETE' });
  const deleted = await getJson('/api/messages?chatId=c1');
  await ask('/api/history', { method: 'DELETE' });
  const { chats: left } = await getJson('/api/history');
  return { shown: first.messages, stored: messages, reloaded: reloaded.messages, newest, next, refusal, deleted, left };
}

const told = [];
for (const version of ['ai-v6', 'ai-v7']) told.push(await talk({ ai: await import(version) }));
console.log(JSON.stringify(told));
