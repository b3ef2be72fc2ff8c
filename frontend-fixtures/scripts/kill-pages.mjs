// Pages whose servers are killed at any moment. They do what a page does that loses its server: they ask another one if none
// is there or it is not ready, send the same request again, or load what is stored and resume. All that they were answered is
// written down: see `Reading`.
import { follow, Page, pause } from '../harness/pages.js';

/** Of the machine: the same as that of the test and of the servers, in seconds. */
const now = () => Number(process.hrtime.bigint()) / 1e9;

/** No connection is there, so nothing was received. */
const REFUSED = 'ECONNREFUSED';

/** One request and what came of it, as far as it came. */
class Reading {
  constructor(method, path, body) {
    Object.assign(this, { method, path, body, begun: now(), answered: null, ended: null, status: 0, port: null, text: '', cut: null });
  }
}

class KillPage extends Page {
  readings = [];
  posts = [];
  /** The index in `posts` of the message that was sent last. */
  newest = 0;
  answered = new Set();
  /** A body that is sent in place of the client's own. */
  again = null;

  static async open(given, pageOf) {
    if (given.of === undefined) return super.open({ ...given, url: 'http://any' });
    const { chat, posts } = pageOf(given.of);
    const body = posts.at(-1);
    const page = await super.open({ ...given, url: 'http://any', chat: chat.id, stored: false });
    const { messages } = JSON.parse(body);
    page.show({ id: chat.id, api: 'http://any/api/chat', fetch: page.fetch, messages });
    page.again = body;
    page.chat.sendMessage();
    return page;
  }

  /** The page's balancer: the next server if one is not there, and the same again a while later if none is ready. */
  fetch = async (url, init = {}) => {
    const { pathname } = new URL(url);
    const isStream = pathname === '/api/chat' || pathname.endsWith('/stream');
    const body = this.again ?? init.body ?? null;
    this.again = null;
    if (init.method === 'POST' && pathname === '/api/chat') this.posts.push(body);
    for (let tries = 0; ; tries++) {
      const port = this.ports[(this.worker + tries) % this.ports.length];
      const reading = new Reading(init.method ?? 'GET', pathname, body);
      reading.port = port;
      let answer;
      try {
        answer = await fetch(`http://127.0.0.1:${port}${pathname}`, { ...init, body });
      } catch (error) {
        if (error.cause?.code === REFUSED && !init.signal?.aborted) {
          await pause(50);
          continue;
        }
        this.readings.push(Object.assign(reading, { ended: now(), cut: String(error.cause ?? error) }));
        if (isStream) throw error;
        await pause(50);
        continue; // a user does that again: reloads, stops, deletes
      }
      Object.assign(reading, { answered: now(), status: answer.status });
      this.readings.push(reading);
      const { status, headers } = answer;
      if (isStream && status !== 503) return new Response(this.read(answer.body, reading), { status, headers });
      try {
        reading.text = await answer.text();
      } catch (error) {
        reading.cut = String(error.cause ?? error);
      }
      reading.ended = now();
      if (status !== 503 && reading.cut === null) return new Response(reading.text || null, { status, headers });
      await pause(status === 503 ? 300 : 50); // a user does again what was cut off
    }
  };

  read(body, reading) {
    if (body === null || reading.status === 204) {
      reading.ended = now();
      return null;
    }
    const reader = body.getReader();
    const decoder = new TextDecoder();
    return new ReadableStream({
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            reading.ended = now();
            controller.close();
          } else {
            reading.text += decoder.decode(value, { stream: true });
            controller.enqueue(value);
          }
        } catch (error) {
          if (reading.cut !== null) return; // the page has left
          Object.assign(reading, { ended: now(), cut: String(error.cause ?? error) });
          controller.error(error);
        }
      },
      async cancel(reason) {
        Object.assign(reading, { ended: now(), cut: 'left' });
        await reader.cancel(reason);
      },
    });
  }

  send({ text, files = [] }) {
    this.newest = this.posts.length;
    this.chat.sendMessage({ text, files });
  }

  /** The text of the user's last message, which can be edited and regenerated; null if there is none. */
  words() {
    return this.chat.messages.findLast(({ role }) => role === 'user')?.parts.find(({ type }) => type === 'text')?.text ?? null;
  }

  edit({ text }) {
    this.chat.sendMessage({ text, messageId: this.chat.messages.findLast(({ role }) => role === 'user').id });
  }

  regenerate() {
    this.chat.regenerate();
  }

  /** As who closes the tab. */
  leave() {
    this.chat.stop();
  }

  async remove() {
    return (await this.fetch(this.place, { method: 'DELETE' })).status;
  }

  /** Answers what is asked: `{pay: true}` approves, `{where: {output}}` answers. Gives how many it has answered. */
  reply({ replies }) {
    const parts = this.chat.messages.at(-1)?.role === 'assistant' ? this.chat.messages.at(-1).parts : [];
    const open = parts.filter(
      ({ type, state, toolCallId }) =>
        type.slice('tool-'.length) in replies &&
        state === (typeof replies[type.slice('tool-'.length)] === 'boolean' ? 'approval-requested' : 'input-available') &&
        !this.answered.has(toolCallId),
    );
    for (const { type, toolCallId, approval } of open) {
      const given = replies[type.slice('tool-'.length)];
      this.answered.add(toolCallId);
      if (typeof given === 'boolean') this.chat.addToolApprovalResponse({ id: approval.id, approved: given });
      else this.chat.addToolOutput({ toolCallId, output: given.output });
    }
    return open.length;
  }

  /** `early`: what is answered as soon as it is asked, while the response may still come. */
  async settle({ early = null }) {
    this.early = early;
    const shown = await super.settle();
    this.early = null;
    return shown;
  }

  async look() {
    if (this.early !== null) this.reply({ replies: this.early });
    await super.look();
  }

  /** Until the message that was sent last was answered, or its connection is lost. */
  async begun() {
    const isAnswered = ({ body, status }) => body !== null && body === this.posts[this.newest] && status !== 503;
    while (!this.readings.some(isAnswered)) await pause();
  }

  told() {
    return this.readings;
  }
}

await follow(KillPage);
