// The client's own chat, without React: `AbstractChat` over a state like the one in `@ai-sdk/react`, its own
// `DefaultChatTransport`, and for those who have no server a `fetch` that serves prepared bytes.

/** The state that `useChat` keeps (`ReactChatState`), without React. */
export class ChatState {
  status = 'ready';
  error = undefined;

  constructor(messages = []) {
    this.messages = messages;
  }

  pushMessage = message => {
    this.messages = this.messages.concat(message);
  };

  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };

  replaceMessage = (index, message) => {
    this.messages = this.messages.toSpliced(index, 1, this.snapshot(message));
  };

  snapshot = value => structuredClone(value);
}

/** Serves `responses` (byte arrays) to the requests in order, in pieces of `pieceSize` bytes; keeps the request bodies. */
export class Server {
  requests = [];

  constructor(responses, { pieceSize = Infinity } = {}) {
    this.responses = responses;
    this.pieceSize = pieceSize;
  }

  fetch = async (_url, { body }) => {
    const response = this.responses[this.requests.length];
    this.requests.push(JSON.parse(body));
    if (response === undefined) return new Response('one request too many', { status: 500 });
    return new Response(inPieces(response, this.pieceSize), { headers: { 'content-type': 'text/event-stream' } });
  };
}

function inPieces(bytes, size) {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, (at += Math.min(size, bytes.length))));
    },
  });
}

/**
 * What apps give to `sendAutomaticallyWhen`, by name: the client's helpers, apart and joined; what Vercel's chatbot
 * template has instead; and the same without regard to the answer.
 */
export const predicates = ai => ({
  tools: ai.lastAssistantMessageIsCompleteWithToolCalls,
  approvals: ai.lastAssistantMessageIsCompleteWithApprovalResponses,
  helpers: options =>
    ai.lastAssistantMessageIsCompleteWithToolCalls(options) ||
    ai.lastAssistantMessageIsCompleteWithApprovalResponses(options),
  template: ({ messages }) =>
    messages
      .at(-1)
      ?.parts?.some(
        part =>
          'state' in part &&
          part.state === 'approval-responded' &&
          'approval' in part &&
          part.approval?.approved === true,
      ) ?? false,
  any: ({ messages }) => messages.at(-1)?.parts?.some(part => part.state === 'approval-responded') ?? false,
});

/** What the chatbot template posts: its last message alone, or all of them once something in the chat was answered. */
const templateRequest = ({ id, messages, body }) => {
  const last = messages.at(-1);
  const answered = messages.some(({ parts }) => parts.some(({ state }) => ['approval-responded', 'output-denied'].includes(state)));
  const about = last.role !== 'user' || answered ? { messages } : { message: last };
  return { body: { id, ...about, selectedChatModel: 'a/model', selectedVisibilityType: 'private', ...body } };
};

/** Clients that differ from the default in more than when they send: the template, and what docs/chatbot-template.md makes of it. */
const setups = {
  template: { predicate: 'template', request: templateRequest },
  adapted: { predicate: 'helpers', request: templateRequest },
};

/**
 * A chat of this client. `sends`: when it sends by itself, by default as soon as every pending call has an approval or an
 * output; a name that is neither a predicate nor a setup never does. `transport`: code that makes one under this name, as a
 * page has it, in place of the client's or the setup's own. `onData`: takes each data part, transient ones included.
 */
export function openChat({ ai }, { fetch, api, id, messages, body, sends = 'helpers', transport, onData }) {
  class Chat extends ai.AbstractChat {}
  const { predicate = sends, request } = setups[sends] ?? {};
  return new Chat({
    id,
    state: new ChatState(messages),
    transport: transport
      ? transportOf(ai, transport, { api, fetch, body })
      : new ai.DefaultChatTransport({ api, fetch, body, prepareSendMessagesRequest: request }),
    sendAutomaticallyWhen: predicates(ai)[predicate],
    onData,
    onError: () => {}, // the default prints it
  });
}

/** What the code makes, but for where it sends. */
function transportOf({ DefaultChatTransport }, code, options) {
  class TransportHere extends DefaultChatTransport {
    constructor(own) {
      super({ ...own, ...options });
    }
  }
  return new Function('DefaultChatTransport', `${code}\nreturn transport;`)(TransportHere);
}

/** Does what the user does: `{text}`, `{approve: approvalId, approved, reason?}` or `{answer: toolCallId, output}`. */
export async function act(chat, action) {
  if ('text' in action) return chat.sendMessage({ text: action.text });
  if ('approve' in action) {
    return chat.addToolApprovalResponse({ id: action.approve, approved: action.approved, reason: action.reason });
  }
  if ('answer' in action) return chat.addToolOutput({ toolCallId: action.answer, output: action.output });
  throw new Error(`unknown action ${JSON.stringify(action)}`);
}

/**
 * Waits until the chat rests. The client sends by itself within microtasks, so a chat that is idle over this many turns of
 * the event loop has nothing more to do; while it waits for a server it is not idle.
 */
export async function settle(chat, turns = 20) {
  for (let idle = 0; idle < turns; idle++) {
    await new Promise(setImmediate);
    if (chat.status === 'submitted' || chat.status === 'streaming') idle = -1;
  }
}
