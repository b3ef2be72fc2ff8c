// `ai` in Node with `resumable-stream`, as the SDK's guide 03-chatbot-resume-streams.mdx builds resume and stop. Its
// publisher and its subscriber are in this process instead of Redis, and so are the ids of the active streams.

import {
  createUIMessageStreamResponse,
  generateId,
  streamText,
  toUIMessageStream,
  UI_MESSAGE_STREAM_HEADERS,
} from "ai";
import { createResumableStreamContext } from "resumable-stream/generic";
import { readMessages, serve, streamOptions } from "./ai_node_agent.mjs";

const values = new Map();
const channels = new Map();
const publisher = {
  connect: async () => {},
  publish: async (channel, message) => channels.get(channel)?.(message),
  set: async (key, value) => void values.set(key, value),
  get: async (key) => values.get(key) ?? null,
  incr: async (key) => {
    const next = Number(values.get(key) ?? 0) + 1;
    values.set(key, String(next));
    return next;
  },
};
const subscriber = {
  connect: async () => {},
  subscribe: async (channel, callback) => void channels.set(channel, callback),
  unsubscribe: async (channel) => void channels.delete(channel),
};
const context = createResumableStreamContext({ waitUntil: null, publisher, subscriber });

const active = new Map(); // the id of a chat -> its active stream, and what stops it

async function chat(request) {
  const { id, messages, refusal } = await readMessages(request);
  if (refusal) return refusal;
  active.delete(id);
  const streamId = generateId();
  const work = new AbortController();
  const clear = () => active.get(id)?.streamId === streamId && active.delete(id);
  const result = streamText(await streamOptions(messages, work.signal));
  return createUIMessageStreamResponse({
    stream: toUIMessageStream({
      stream: result.stream,
      originalMessages: messages,
      generateMessageId: generateId,
      onEnd: clear,
    }),
    async consumeSseStream({ stream }) {
      await context.createNewResumableStream(streamId, () => stream);
      active.set(id, { streamId, work });
    },
  });
}

async function resume(_, id) {
  const running = active.get(id);
  if (running === undefined) return new Response(null, { status: 204 });
  const stream = await context.resumeExistingStream(running.streamId);
  if (stream == null) return new Response(null, { status: 204 });
  return new Response(stream.pipeThrough(new TextEncoderStream()), { headers: UI_MESSAGE_STREAM_HEADERS });
}

async function stop(_, id) {
  active.get(id)?.work.abort();
  active.delete(id);
  return Response.json({ success: true });
}

serve({ "POST /api/chat": chat, "GET /api/chat/:id/stream": resume, "POST /api/chat/:id/stop": stop });
