#!/usr/bin/env node
// Talks with an agent from a terminal, by `fetch` alone: what a client without the AI SDK has to do.
//
//   node chat.mjs                     begins a chat
//   CHAT=<id> node chat.mjs           goes on with one
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

const API = `${process.env.AGENT_URL ?? "http://127.0.0.1:8000"}/api/chat`;
const chatId = process.env.CHAT ?? randomUUID();
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const ask = async (question) => {
  process.stdout.write(question);
  const { value, done } = await lines.next();
  if (done) process.exit(0);
  return value;
};

/** Yields the chunks of a response, as they come. */
async function* chunks(response) {
  let rest = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + text).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      // A line that begins with a colon only keeps the connection open.
      if (event.startsWith("data: ") && event !== "data: [DONE]") yield JSON.parse(event.slice("data: ".length));
    }
  }
}

/** Sends one message, prints the answer, and returns the parts of the calls that wait for an approval. */
async function send(message) {
  const response = await fetch(API, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: chatId, message }),
  });
  if (!response.ok) return console.error(await response.text());
  const calls = new Map();
  let messageId;
  for await (const chunk of chunks(response)) {
    if (chunk.type === "start") messageId = chunk.messageId;
    if (chunk.type === "text-delta") process.stdout.write(chunk.delta);
    if (chunk.type === "text-end") console.log();
    if (chunk.type === "tool-input-available") calls.set(chunk.toolCallId, chunk);
    if (chunk.type === "tool-approval-request") calls.get(chunk.toolCallId).approvalId = chunk.approvalId;
    if (chunk.type === "tool-output-available") console.log(`[${JSON.stringify(chunk.output)}]`);
    if (chunk.type === "error") console.error(chunk.errorText);
  }
  const pending = [...calls.values()].filter((call) => call.approvalId);
  return pending.length > 0 && { messageId, pending };
}

console.log(`Chat ${chatId}`);
for (;;) {
  let waiting = await send({ id: randomUUID(), role: "user", parts: [{ type: "text", text: await ask("> ") }] });
  while (waiting) {
    const parts = [];
    for (const { toolName, toolCallId, input, approvalId } of waiting.pending) {
      const approved = /^y/i.test(await ask(`${toolName}(${JSON.stringify(input)})? [y/n] `));
      const approval = { id: approvalId, approved };
      parts.push({ type: `tool-${toolName}`, toolCallId, input, state: "approval-responded", approval });
    }
    waiting = await send({ id: waiting.messageId, role: "assistant", parts });
  }
}
