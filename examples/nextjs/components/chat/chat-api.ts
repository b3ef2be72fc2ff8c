import "../without-eval";
import { DefaultChatTransport, type UIMessageChunk } from "ai";
import { chatPath } from "./host";
import type { ChatMessage, Draft, Outcome, StoredChat } from "./message-types";

/** What the server has stored of the chat; `undefined` if it has no such chat. Throws if it can't be asked. */
export async function loadChat(api: string, id: string): Promise<StoredChat | undefined> {
  const response = await ask(chatPath(api, id));
  if (response.status === 404) return undefined;
  if (!response.ok) throw await refusal(response);
  return response.json();
}

/** Shows this version of a message, from which the chat goes on. */
export async function chooseVersion(api: string, id: string, version: string): Promise<StoredChat> {
  const response = await ask(`${chatPath(api, id)}/branch`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ version }),
  });
  if (!response.ok) throw await refusal(response);
  return response.json();
}

/** More than this many characters are no sentence for the user. */
const LONGEST_REASON = 500;

/**
 * Why a request was refused. The server says it as plain text, the Inspector's routes as `error` in JSON; a proxy before
 * it answers in HTML or in JSON of its own, of which only the status is told.
 */
export async function refusal(response: Response): Promise<Error> {
  const text = await response.text();
  const reason = reasonOf(text, response.headers.get("content-type") ?? "") ?? sentenceOf(response.status);
  if (response.status !== 413) return new Error(reason);
  return new TooLargeError(reason.includes("prepareSendMessagesRequest") ? sentenceOf(413) : reason); // it is for developers
}

/** A request that cannot succeed as it is. */
export class TooLargeError extends Error {}

function reasonOf(text: string, type: string): string | undefined {
  if (type.startsWith("text/plain") && text !== "" && text.length <= LONGEST_REASON) return text;
  if (!type.startsWith("application/json")) return undefined;
  try {
    const { error } = JSON.parse(text);
    return typeof error === "string" && error.includes(" ") ? error : undefined;
  } catch {
    return undefined;
  }
}

function sentenceOf(status: number): string {
  if (status === 401 || status === 403) return "You may not do this. Sign in again, then retry.";
  if (status === 413) return "This message is too large for the server. Send it again with smaller or fewer files.";
  if (status === 429) return "There are too many requests. Wait a moment, then retry.";
  return `The server cannot answer now (status ${status}). Try again later.`;
}

/** `stop()` of the client only leaves the stream, as a reload does; the server is told that the run shall end. */
export async function stopRun(api: string, id: string): Promise<void> {
  await fetch(`${chatPath(api, id)}/stop`, { method: "POST" }).catch(() => undefined);
}

/**
 * Gives a message to the run that goes on: its agent reads it before its next model call. `false` if it came too late
 * for that, or cannot be delivered: it is to be sent as any other.
 */
export async function steerRun(api: string, id: string, messageId: string, { text, files }: Draft): Promise<boolean> {
  const parts = [...files, ...(text === "" ? [] : [{ type: "text", text }])];
  const response = await fetch(`${chatPath(api, id)}/steer`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: messageId, role: "user", parts }),
  }).catch(() => undefined);
  return response?.ok === true && (await response.json()).type === "delivered";
}

type Sent = { id: string; messages: ChatMessage[]; trigger: string; messageId: string | undefined };

/** What a request says: the one message that it is about. The server has the others, and their files. */
export function requestBody({ id, messages, trigger, messageId }: Sent, approvalPayloads: Record<string, unknown>) {
  const message = messages.find((one) => one.id === messageId) ?? messages.at(-1);
  return { id, trigger, messageId, message, approvalPayloads };
}

/** By the word “network” the client knows that a connection was lost: each browser has another for it. */
const UNREACHABLE = "Couldn't reach the server. Check your network connection and try again.";
const BROKE_OFF = "The network connection was lost in the middle of the reply.";

/** What a proxy answers while the server behind it is away: to take up a reply is tried again. */
const AWAY = [502, 503, 504];

type Listeners = {
  /** The server has taken a request. */
  onAccepted: () => void;
  /** A response begins, also one that is taken up again. */
  onBegin: () => void;
  /** A response has ended, whole unless there is an outcome. */
  onEnd: (outcome: Outcome | undefined) => void;
};

/** How a response ends with this chunk: `null` if it is whole, `undefined` if it goes on. */
function outcomeOf(chunk: UIMessageChunk): Outcome | null | undefined {
  if (chunk.type === "abort") return { type: "stopped" };
  if (chunk.type === "error") return { type: "failed", errorText: chunk.errorText };
  return chunk.type === "finish" ? null : undefined;
}

/** The client does not tell how a response that another tab has stopped has ended: its last chunk does. */
class Transport extends DefaultChatTransport<ChatMessage> {
  onEnd: Listeners["onEnd"] = () => undefined;

  protected override processResponseStream(stream: ReadableStream<Uint8Array<ArrayBufferLike>>): ReadableStream<UIMessageChunk> {
    const transform = (chunk: UIMessageChunk, controller: TransformStreamDefaultController<UIMessageChunk>) => {
      const outcome = outcomeOf(chunk);
      if (outcome !== undefined) this.onEnd(outcome ?? undefined);
      controller.enqueue(chunk);
    };
    return super.processResponseStream(stream).pipeThrough(new TransformStream({ transform }));
  }
}

/** `approvalPayloads`: what approved calls get, by the approval's id, as it is when a request is sent. */
export function chatTransport(api: string, approvalPayloads: Record<string, unknown>, { onAccepted, onBegin, onEnd }: Listeners) {
  const transport = new Transport({
    api: `${api}/chat`,
    prepareSendMessagesRequest: (sent) => ({ body: requestBody(sent, approvalPayloads) }),
    fetch: async (input, init) => {
      const response = await ask(input, init);
      if (init?.method === "GET" && AWAY.includes(response.status)) throw new TypeError(UNREACHABLE);
      if (!response.ok) throw await refusal(response);
      if (init?.method === "POST") onAccepted();
      if (response.body === null || response.status === 204) return response;
      onBegin();
      return new Response(readable(response.body), response);
    },
  });
  transport.onEnd = onEnd;
  return transport;
}

/** `fetch`, with our words for a server that can't be reached. */
async function ask(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  return fetch(input, init).catch((error: unknown) => {
    throw inWords(error, UNREACHABLE);
  });
}

function inWords(error: unknown, words: string): unknown {
  return error instanceof TypeError ? new TypeError(words) : error;
}

/** The body, with our words for a connection that breaks. */
function readable(body: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(inWords(error, BROKE_OFF));
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
