// Pages that come and go while a response is being written by a running server. One JSON object a line on stdin:
//   {"ai": 6 | 7, "url": "<where the chat's app is>", "texts": [text], "approve": bool, "answer": output}
// and one a line on stdout: what each page shows in the end, and what is stored then.
//
// The first page sends the texts. Whenever the agent waits, three more readers come: a page that is reloaded (with what
// the server has stored), a second tab that knows nothing of the message, and the first page itself, whose connection
// breaks. Then the agent may go on.
import { createInterface } from 'node:readline';
import { openChat, settle } from '../harness/chat.js';

const CLIENTS = { 6: { ai: await import('ai-v6') }, 7: { ai: await import('ai-v7') } };
const getJson = async (url, init) => (await fetch(url, init)).json();
const post = url => fetch(url, { method: 'POST' });
const turn = () => new Promise(setImmediate);

class Visit {
  pages = [];
  broken = [];

  constructor({ ai, url }) {
    this.client = CLIENTS[ai];
    this.url = url;
  }

  open(name, messages) {
    const chat = openChat(this.client, { id: 'c1', api: `${this.url}/api/chat`, fetch: this.fetch(name), messages });
    this.pages.push({ name, chat });
    return chat;
  }

  /** A connection that `breakAll` breaks, as a network does: the page hears of an error. */
  fetch = name => async (url, init) => {
    const response = await fetch(url, init);
    if (name !== 'first' || response.body === null) return response;
    const { readable, writable } = new TransformStream();
    const breaking = new AbortController();
    this.broken.push(breaking);
    response.body.pipeTo(writable, { signal: breaking.signal }).catch(() => {});
    return new Response(readable, { status: response.status, headers: response.headers });
  };

  breakAll() {
    for (const breaking of this.broken.splice(0)) breaking.abort(new TypeError('network error'));
  }

  stored = async () => (await getJson(`${this.url}/api/chat/c1`)).messages;

  async run({ texts, approve, answer }) {
    const first = this.open('first', []);
    for (const text of texts) {
      first.sendMessage({ text });
      await this.throughGates(first);
      const open = first.messages.at(-1).parts.filter(({ state }) => state === 'approval-requested' || state === 'input-available');
      for (const part of open) this.answer(first, part, { approve, answer });
      if (open.length > 0) await this.throughGates(first);
    }
    return { stored: await this.stored(), pages: this.pages.map(shown) };
  }

  answer(chat, { approval, toolCallId }, { approve, answer }) {
    if (approval !== undefined) return chat.addToolApprovalResponse({ id: approval.id, approved: approve });
    return chat.addToolOutput({ toolCallId, output: answer });
  }

  /** Until the response is over; more readers come at each gate. */
  async throughGates(first) {
    this.broken.length = 0; // the connections of earlier responses have ended: `gather` waits for a new one
    for (;;) {
      const { waits, runs } = await getJson(`${this.url}/gate`);
      if (waits) await this.gather(first);
      else if (!runs && first.status === 'ready') break;
      await turn();
    }
    for (const { chat } of this.pages) await settle(chat);
  }

  async gather(first) {
    while (this.broken.length === 0) await turn();
    this.breakAll();
    while (first.status === 'submitted' || first.status === 'streaming') await turn();
    const stored = await this.stored();
    const before = stored.at(-1).role === 'assistant' ? stored.slice(0, -1) : stored;
    await Promise.all([
      this.resume(first),
      this.resume(this.open('reloaded', stored)),
      this.resume(this.open('second tab', before)),
    ]);
    await post(`${this.url}/release`);
  }

  /** Takes up the response, and waits until the page is written to. */
  async resume(chat) {
    const before = chat.messages;
    const resumed = chat.resumeStream();
    let over = false;
    resumed.finally(() => (over = true));
    while (chat.messages === before && !over) await turn();
  }
}

const shown = ({ name, chat: { messages, status, error } }) => ({ name, messages, status, error: error?.message ?? null });

for await (const line of createInterface({ input: process.stdin })) {
  const visit = new Visit(JSON.parse(line));
  console.log(JSON.stringify(await visit.run(JSON.parse(line))));
}
