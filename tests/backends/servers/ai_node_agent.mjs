// The scripted agent of the servers with `ai` in Node, and their routes in `node:http`. The model is the SDK's own mock.

import { convertToModelMessages, generateId, isStepCount, tool, validateUIMessages } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

async function* text(words, seconds = 0) {
  yield { type: "text-start", id: "1" };
  for (const word of words.split(/(?<= )/)) {
    await sleep(1000 * seconds);
    yield { type: "text-delta", id: "1", delta: word };
  }
  yield { type: "text-end", id: "1" };
}

async function* call(toolName, input) {
  yield { type: "tool-call", toolCallId: generateId(), toolName, input: JSON.stringify(input) };
}

async function* failing() {
  yield { type: "text-start", id: "1" };
  yield { type: "text-delta", id: "1", delta: "I begin, and then" };
  yield { type: "error", error: new Error("The provider has hung up.") };
}

function textOf({ data: { data } }) {
  return Buffer.from(data, typeof data === "string" ? "base64" : undefined).toString();
}

function answer(prompt) {
  const last = prompt.at(-1);
  if (last.role === "tool") return text("Here is what the tool says.");
  const words = last.content.map((part) => part.text ?? "").join(" ").toLowerCase();
  const file = last.content.find((part) => part.type === "file");
  if (file) return text(textOf(file));
  if (words.includes("weather")) return call("getWeather", { city: "Oslo" });
  if (words.includes("delete")) return call("deleteFile", { name: "notes.txt" });
  if (words.includes("time zone")) return call("getTimeZone", {});
  if (words.includes("story")) return text("Once upon a time there was a train. ".repeat(15), 0.03);
  if (words.includes("fail")) return failing();
  return text("Hello. What can I do for you?");
}

async function* modelParts(prompt) {
  yield { type: "stream-start", warnings: [] };
  let unified = "stop";
  for await (const part of answer(prompt)) {
    if (part.type === "tool-call") unified = "tool-calls";
    yield part;
  }
  yield { type: "finish", finishReason: { unified, raw: unified }, usage: USAGE };
}

const model = new MockLanguageModelV4({
  doStream: async ({ prompt }) => ({ stream: ReadableStream.from(modelParts(prompt)) }),
});

const tools = {
  getWeather: tool({
    description: "Tells the weather in a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => ({ city, celsius: 21 }),
  }),
  deleteFile: tool({
    description: "Deletes a file.",
    inputSchema: z.object({ name: z.string() }),
    execute: async ({ name }) => ({ deleted: name }),
  }),
  getTimeZone: tool({ description: "Tells the user's time zone.", inputSchema: z.object({}) }),
};

// The messages of a request, or a response that refuses it.
export async function readMessages(request) {
  try {
    const body = await request.json();
    return { id: body.id, messages: await validateUIMessages({ messages: body.messages, tools }) };
  } catch (error) {
    return { refusal: new Response(error.message, { status: 400 }) };
  }
}

// The options of `streamText`.
export async function streamOptions(messages, abortSignal) {
  return {
    model,
    messages: await convertToModelMessages(messages, { ignoreIncompleteToolCalls: true }),
    tools,
    toolApproval: { deleteFile: "user-approval" },
    stopWhen: isStepCount(5),
    abortSignal,
  };
}

async function toRequest(incoming, signal) {
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const body = incoming.method === "POST" ? Buffer.concat(chunks) : undefined;
  return new Request(`http://127.0.0.1${incoming.url}`, { method: incoming.method, body, signal });
}

// Serves routes: a method and a path such as "POST /api/chat/:id/stop" -> a function of the request and the id.
export function serve(routes) {
  const server = createServer(async (incoming, outgoing) => {
    const [, id] = incoming.url.match(/^\/api\/chat\/([^/]+)\//) ?? [];
    const route = routes[`${incoming.method} ${id ? incoming.url.replace(id, ":id") : incoming.url}`];
    if (route === undefined) return outgoing.writeHead(404).end();
    const gone = new AbortController();
    outgoing.on("close", () => gone.abort());
    let response;
    try {
      response = await route(await toRequest(incoming, gone.signal), id);
    } catch (error) {
      console.error(error);
      return outgoing.writeHead(500).end("An error occurred.");
    }
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body === null) return outgoing.end();
    Readable.fromWeb(response.body).on("error", () => outgoing.destroy()).pipe(outgoing);
  });
  server.listen(Number(process.argv[2]), "127.0.0.1");
}
