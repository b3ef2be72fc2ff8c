import "../without-eval";
import { DefaultChatTransport, type UIMessageChunk } from "ai";
import { chatPath } from "./host";
import type { ChatMessage, Draft, Outcome, StoredChat } from "./message-types";

/** Load the stored chat. Returns `undefined` if the server does not have it, and throws if the request fails. */
export async function loadChat(api: string, id: string): Promise<StoredChat | undefined> {
  const response = await ask(chatPath(api, id));
  if (response.status === 404) return undefined;
  if (!response.ok) throw await refusal(response);
  return response.json();
}

/** Select a version of a message. The chat continues from that version. */
export async function chooseVersion(api: string, id: string, version: string): Promise<StoredChat> {
  const response = await ask(`${chatPath(api, id)}/branch`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ version }),
  });
  if (!response.ok) throw await refusal(response);
  return response.json();
}

/** Maximum characters of an error text that is shown to the user. */
const LONGEST_REASON = 500;

/**
 * The reason why a request failed. The server sends it as plain text, and the Inspector's routes as `error` in JSON. A
 * proxy may respond with HTML or other JSON: then only the status is shown.
 */
export async function refusal(response: Response): Promise<Error> {
  const text = await response.text();
  const reason = reasonOf(text, response.headers.get("content-type") ?? "") ?? sentenceOf(response.status);
  if (response.status !== 413) return new Error(reason);
  return new TooLargeError(reason.includes("prepareSendMessagesRequest") ? sentenceOf(413) : reason); // this text is for developers
}

/** The request is too large: a retry without changes fails again. */
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

/** Stop the run on the server. `stop()` of the AI SDK only disconnects, as a reload does. */
export async function stopRun(api: string, id: string): Promise<void> {
  await fetch(`${chatPath(api, id)}/stop`, { method: "POST" }).catch(() => undefined);
}

/**
 * Send a message to the running agent, which reads it before its next model call. Returns `false` if the message came
 * too late or cannot be delivered: then send it as a normal message.
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

/** The body of a request. It has only the new message: the server already has the others and their files. */
export function requestBody({ id, messages, trigger, messageId }: Sent, approvalPayloads: Record<string, unknown>) {
  const message = messages.find((one) => one.id === messageId) ?? messages.at(-1);
  return { id, trigger, messageId, message, approvalPayloads };
}

/** Text for a lost connection. The AI SDK looks for “network”, and each browser words this error differently. */
const UNREACHABLE = "Couldn't reach the server. Check your network connection and try again.";
const BROKE_OFF = "The network connection was lost in the middle of the reply.";

/** Statuses of a proxy whose server cannot be reached. The client then retries to resume the reply. */
const AWAY = [502, 503, 504];

type Listeners = {
  /** Called when the server has accepted a request. */
  onAccepted: () => void;
  /** Called when a response begins, also when it is resumed. */
  onBegin: () => void;
  /** Called when a response has ended. It is complete if `outcome` is absent. */
  onEnd: (outcome: Outcome | undefined) => void;
};

/** The outcome of a response whose last chunk this is: `null` if complete. `undefined` if it is not the last chunk. */
function outcomeOf(chunk: UIMessageChunk): Outcome | null | undefined {
  if (chunk.type === "abort") return { type: "stopped" };
  if (chunk.type === "error") return { type: "failed", errorText: chunk.errorText };
  return chunk.type === "finish" ? null : undefined;
}

/** Read the outcome from the last chunk. The AI SDK does not report that another tab stopped the response. */
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

/** `approvalPayloads`: the payloads of approved calls by approval id, read when a request is sent. */
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

/** `fetch` with one error text for a server that cannot be reached. */
async function ask(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  return fetch(input, init).catch((error: unknown) => {
    throw inWords(error, UNREACHABLE);
  });
}

function inWords(error: unknown, words: string): unknown {
  return error instanceof TypeError ? new TypeError(words) : error;
}

/** The body with one error text for a connection that breaks. */
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
