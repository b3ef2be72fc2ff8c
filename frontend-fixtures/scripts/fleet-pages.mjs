// Pages before running servers, led by whoever writes commands. One JSON object a line on stdin, and one a line on
// stdout when it is done, in the same order. Every command names its page:
//   {do: "open", page, ai: 6 | 7, url, chat, stored?: true, worker?, user?}   a page, with what is stored; its worker's number
//   {do: "turn", page, worker}                 sends what follows to that worker; null: to whichever comes
//   {do: "send", page, text}                   these begin something and do not wait for its end
//   {do: "approve", page, tool, approved}
//   {do: "answer", page, tool, output}
//   {do: "resume", page}
//   {do: "stop", page}                         asks the server to stop -> the status
//   {do: "until", page, part}                  until the last message has such a part
//   {do: "settle", page}                       until the page rests -> {status, error, messages}
//   {do: "stored", page}                       -> the messages that the server has, once one is there; none of a chat that
//                                                 it has not
import { createInterface } from 'node:readline';
import { openChat, settle } from '../harness/chat.js';

const CLIENTS = { 6: { ai: await import('ai-v6') }, 7: { ai: await import('ai-v7') } };
const pages = new Map();

/** The servers and their machine shall not wait for this process to look again. */
const pause = () => new Promise(resolve => setTimeout(resolve, 5));

class Page {
  static async open({ ai, url, chat, stored = false, worker = null, user = null }) {
    const page = new Page();
    Object.assign(page, { worker, user, place: `${url}/api/chat/${chat}` });
    const messages = stored ? await page.stored() : [];
    page.chat = openChat(CLIENTS[ai], { id: chat, api: `${url}/api/chat`, fetch: page.fetch, messages });
    return page;
  }

  fetch = (url, init = {}) => {
    const headers = new Headers(init.headers);
    if (this.worker !== null) headers.set('x-worker', this.worker);
    if (this.user !== null) headers.set('x-user', this.user);
    return fetch(url, { ...init, headers });
  };

  turn({ worker }) {
    this.worker = worker;
  }

  send({ text }) {
    this.chat.sendMessage({ text });
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

  async stop() {
    return (await this.fetch(`${this.place}/stop`, { method: 'POST' })).status;
  }

  async until({ part }) {
    while (this.find(part) === undefined) await pause();
  }

  async settle() {
    await this.resumed; // its status says nothing of a stream that has been asked for and has not come
    while (this.chat.status === 'submitted' || this.chat.status === 'streaming') await pause();
    await settle(this.chat);
    const { status, error, messages } = this.chat;
    return { status, error: error?.message ?? null, messages };
  }

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

for await (const line of createInterface({ input: process.stdin })) {
  const { do: what, page, ...given } = JSON.parse(line);
  if (what === 'open') pages.set(page, await Page.open(given));
  const done = what === 'open' ? null : await pages.get(page)[what](given);
  console.log(JSON.stringify(done ?? null));
}
