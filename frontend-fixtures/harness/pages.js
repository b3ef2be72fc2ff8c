// Pages before running servers, led by whoever writes commands: one JSON object a line on stdin, and for each one on
// stdout, `{n, done}` or `{n, failed}`. `n` is the command's own number. The commands of one page are done one after the
// other, but for those with `meanwhile`; those of several pages at once.
import { createInterface } from 'node:readline';
import { openChat, settle } from './chat.js';

const CLIENTS = { 6: { ai: await import('ai-v6') }, 7: { ai: await import('ai-v7') } };

/** The servers and their machine shall not wait for this process to look again. */
export const pause = (milliseconds = 5) => new Promise(resolve => setTimeout(resolve, milliseconds));

/** A page; each method is a command. What begins a response does not wait for its end. */
export class Page {
  /** A page, with what is stored or with nothing. `worker`: the number of the one that it asks. */
  static async open({ ai, url, chat, stored = false, worker = null, user = null, ...more }) {
    const page = new this();
    Object.assign(page, { ai, worker, user, place: `${url}/api/chat/${chat}` }, more);
    const messages = stored ? await page.stored() : [];
    page.show({ id: chat, api: `${url}/api/chat`, fetch: page.fetch, messages });
    return page;
  }

  show(options) {
    this.chat = openChat(CLIENTS[this.ai], options);
  }

  fetch = (url, init = {}) => {
    const headers = new Headers(init.headers);
    if (this.worker !== null) headers.set('x-worker', this.worker);
    if (this.user !== null) headers.set('x-user', this.user);
    return fetch(url, { ...init, headers });
  };

  /** What is sent from now on goes to that worker; null: to whichever comes. */
  turn({ worker }) {
    this.worker = worker;
  }

  send({ text }) {
    this.chat.sendMessage({ text });
  }

  /** Edits the user's last message. */
  edit({ text }) {
    const { id } = this.chat.messages.findLast(({ role }) => role === 'user');
    this.chat.sendMessage({ text, messageId: id });
  }

  approve({ tool, approved }) {
    this.chat.addToolApprovalResponse({ id: this.find({ type: `tool-${tool}`, state: 'approval-requested' }).approval.id, approved });
  }

  answer({ tool, output }) {
    this.chat.addToolOutput({ toolCallId: this.find({ type: `tool-${tool}`, state: 'input-available' }).toolCallId, output });
  }

  resume() {
    this.resumed = this.chat.resumeStream();
  }

  /** Asks the server to stop; gives the status. */
  async stop() {
    return (await this.fetch(`${this.place}/stop`, { method: 'POST' })).status;
  }

  /** Until the last message has such a part. */
  async until({ part }) {
    while (this.find(part) === undefined) await pause();
  }

  /** Until the page rests; gives what it shows. */
  async settle() {
    await this.resumed; // its status says nothing of a stream that has been asked for and has not come
    while (this.chat.status === 'submitted' || this.chat.status === 'streaming') await this.look();
    await settle(this.chat);
    const { status, error, messages } = this.chat;
    return { status, error: error?.message ?? null, messages };
  }

  /** While a response comes. */
  look() {
    return pause();
  }

  /** The messages that the server has, once one is there; none of a chat that it has not. */
  async stored() {
    let answer = await this.fetch(this.place);
    while (answer.status >= 500) {
      await pause(); // no server is there just now: whoever reloads a page tries again
      answer = await this.fetch(this.place);
    }
    return answer.status === 404 ? [] : (await answer.json()).messages;
  }

  find(wanted) {
    const parts = this.chat.messages.at(-1)?.role === 'assistant' ? this.chat.messages.at(-1).parts : [];
    return parts.find(part => Object.entries(wanted).every(([key, value]) => part[key] === value));
  }
}

/** Does what it is told until its stdin ends, with pages of this class. */
export async function follow(PageHere) {
  const pages = new Map();
  const last = new Map();

  async function done({ do: what, page, ...given }) {
    if (what !== 'open') return (await pages.get(page)[what](given)) ?? null;
    pages.set(page, await PageHere.open(given, name => pages.get(name)));
    return null;
  }

  for await (const line of createInterface({ input: process.stdin })) {
    const { n, meanwhile = false, ...command } = JSON.parse(line);
    const before = meanwhile ? null : last.get(command.page);
    const doing = (async () => {
      await before;
      return done(command);
    })().then(
      result => console.log(JSON.stringify({ n, done: result })),
      error => console.log(JSON.stringify({ n, failed: String(error?.stack ?? error) })),
    );
    if (!meanwhile) last.set(command.page, doing);
  }
}
