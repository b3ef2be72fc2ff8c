// Real chats before a running server. One JSON object a line on stdin:
//   {"ai": 6 | 7, "url": "<where the chat's app is>", "sends": "<one of `predicates`>",
//    "transport"?: "<code that makes it>", "steps": [step]}
// and one a line on stdout, in the same order: what was posted, shown and stored at the end of each step, and why a
// client would refuse what is stored.
//
// A step does one thing on a page, the newest unless it names one (`page: 0` is the first):
//   {text, files?, body?, offline?}           types it, with these file parts and keys of the body
//   {text, stopAt, then?}                     stops when a part is in the state `stopAt`, and does the step `then` at once
//   {text, at, then}                          the same without a stop
//   {text, reloadAt}, {text, joinAt}          another page comes then, and takes up the answer; with `reloadAt` the first
//                                             one leaves. The model goes on when it is there
//   {approve: tool, approved, reason?, payload?, clicks?}   answers the first question about the tool
//   {answer: tool, call?, output}, {answer: tool, call?, state: "output-error", errorText}   the first call of the tool that
//                                             waits, else the first; or the one with that number in the chat, from 0
//   {send: true}                              sends what was answered, though something is still open
//   {regenerate: index | null}, {edit: index, text}
//   {rewrite: index, text}                    edits as the chatbot template does: another text in the list, then regenerate()
//   {cut: count, text}                        edits as assistant-ui does: types it where the page shows the first messages alone
//   {reload: true}                            opens another page, with what the server has stored
//   {look: true}                              does nothing
import { createInterface } from 'node:readline';
import { openChat, settle } from '../harness/chat.js';

const CLIENTS = { 6: { ai: await import('ai-v6') }, 7: { ai: await import('ai-v7') } };

/** A chat that posts as often as this in one step would post for ever. */
const TOO_OFTEN = 20;

const getJson = async url => (await fetch(url)).json();

class Visit {
  posts = [];
  pages = [];

  constructor({ ai, url, sends, transport }) {
    this.client = CLIENTS[ai];
    this.url = url;
    this.sends = sends;
    this.transport = transport;
    this.open();
  }

  open(messages) {
    const payloads = {};
    const body = () => ({ approvalPayloads: payloads });
    const { sends, transport, fetch, url } = this;
    const chat = openChat(this.client, { id: 'c1', api: `${url}/api/chat`, fetch, messages, body, sends, transport });
    this.pages.push({ chat, payloads });
  }

  fetch = (url, init) => {
    if (init.method !== 'POST') return fetch(url, init);
    const { trigger, messageId } = JSON.parse(init.body);
    this.posts.push({ trigger, messageId });
    if (this.posts.length >= TOO_OFTEN) throw new Error('posted too often');
    if (this.offline) throw new Error('offline');
    return fetch(url, init);
  };

  stored = async () => (await getJson(`${this.url}/api/chat/c1`)).messages;

  async take({ page = -1, offline = false, ...step }) {
    this.posts = [];
    this.offline = offline;
    if (step.reload) this.open(await this.stored());
    const asked = this.pages.at(page);
    const done = step.reloadAt || step.joinAt ? this.another(asked.chat, step) : act(asked.chat, step, asked.payloads);
    const failure = await done.then(() => undefined, error => error.message);
    for (const { chat } of this.pages) await settle(chat);
    const { chat } = this.pages.at(page);
    const ran = await getJson(`${this.url}/at-rest`);
    const { status, error, messages } = chat;
    const stored = await this.stored();
    const refusals = await refusalsOf(stored);
    return { status, error: failure ?? error?.message ?? null, posts: this.posts, messages, stored, refusals, ran };
  }

  /** Sends, and has another page take up the answer: each kit does that for a chat whose last message is the user's. */
  async another(chat, { text, reloadAt, joinAt }) {
    const sent = chat.sendMessage({ text });
    await reaches(chat, reloadAt ?? joinAt);
    if (reloadAt) await chat.stop(); // what a reload does to its connection
    const stored = await this.stored();
    this.open(stored);
    const { chat: other } = this.pages.at(-1);
    const isTaken = this.sends !== 'template' || stored.at(-1).role === 'user';
    const resumed = isTaken && other.resumeStream();
    if (isTaken) await reaches(other, reloadAt ?? joinAt);
    await fetch(`${this.url}/go-on`, { method: 'POST' });
    await Promise.all([sent, resumed]);
  }
}

async function reaches(chat, state) {
  while (!chat.messages.at(-1)?.parts.some(part => part.state === state)) await new Promise(setImmediate);
}

async function refusalsOf(messages) {
  const judge = ({ ai }) => ai.validateUIMessages({ messages }).then(() => [], error => [error.message]);
  return (await Promise.all(Object.values(CLIENTS).map(judge))).flat();
}

async function act(chat, step, payloads) {
  if (step.reload || step.look) return;
  if ('stopAt' in step || 'at' in step) return sendAndGoOn(chat, step);
  if ('approve' in step) return approve(chat, step, payloads);
  if ('answer' in step) {
    const { answer, call, ...given } = step;
    const states = call === undefined ? ['input-available', undefined] : [undefined];
    return chat.addToolOutput({ toolCallId: find(chat, answer, states, call).toolCallId, ...given });
  }
  if ('regenerate' in step) return chat.regenerate(step.regenerate === null ? {} : { messageId: idAt(chat, step.regenerate) });
  if ('rewrite' in step) return rewrite(chat, step);
  if ('edit' in step) return chat.sendMessage({ text: step.text, messageId: idAt(chat, step.edit) });
  if ('cut' in step) chat.messages = chat.messages.slice(0, step.cut);
  return chat.sendMessage(step.send ? undefined : { text: step.text, files: step.files }, { body: step.body });
}

function rewrite(chat, { rewrite: index, text }) {
  chat.messages = [...chat.messages.slice(0, index), { ...chat.messages[index], parts: [{ type: 'text', text }] }];
  return chat.regenerate();
}

async function sendAndGoOn(chat, { text, stopAt, at, then }) {
  const sent = chat.sendMessage({ text });
  await reaches(chat, stopAt ?? at);
  if (stopAt) await chat.stop();
  const next = then && act(chat, then);
  await sent;
  await next;
}

/** A payload waits with the page until the chat sends, which may be when something else is answered. */
async function approve(chat, { approve: tool, approved, reason, payload, clicks = 1 }, payloads) {
  const { id } = find(chat, tool, ['approval-requested']).approval;
  if (payload !== undefined) payloads[id] = payload;
  await Promise.all(Array.from({ length: clicks }, () => chat.addToolApprovalResponse({ id, approved, reason })));
}

const idAt = (chat, index) => chat.messages[index].id;

/** The call with that number, from 0, of the tool's calls in the first of these states, then the next; `undefined` is any. */
function find(chat, tool, states, call = 0) {
  const parts = chat.messages.flatMap(message => message.parts).filter(part => part.type === `tool-${tool}`);
  const part = states.flatMap(state => parts.filter(part => state === undefined || part.state === state))[call];
  if (part === undefined) throw new Error(`${tool} is not to be answered: ${JSON.stringify(parts)}`);
  return part;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { steps, ...where } = JSON.parse(line);
  const visit = new Visit(where);
  const seen = [];
  for (const step of steps) seen.push(await visit.take(step));
  console.log(JSON.stringify(seen));
}
