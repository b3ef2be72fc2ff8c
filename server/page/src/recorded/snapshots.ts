import { readUIMessageStream, type UIMessageChunk } from "ai";
import type { ChatMessage, Outcome, Outcomes } from "../components/chat/message-types";
import type { Row } from "../inspector/entries";

/** The chat after some rows as the page shows it. */
export type Snapshot = {
  messages: ChatMessage[];
  /** Outcomes of incomplete answers, by message id. A failure of the newest answer is in `failure` instead. */
  outcomes: Outcomes;
  /** Error text that ended the newest answer. */
  failure?: string;
};

export const EMPTY: Snapshot = { messages: [], outcomes: new Map() };

/** Return the chat before the first row and after each row. */
export async function snapshotsOf(rows: Row[]): Promise<Snapshot[]> {
  const snapshots = [EMPTY];
  let { messages, outcomes } = EMPTY;
  for (const turn of turnsOf(rows)) {
    const request = turn[0]?.entry.turn?.request;
    const said = (request?.message ?? request?.messages?.at(-1)) as ChatMessage | undefined;
    if (said) messages = withMessage(messages, said);
    const drawn = await answersOf(turn, said?.role === "assistant" ? said : undefined);
    let ended = outcomes;
    let problem: string | undefined;
    for (const [index, answer] of drawn.entries()) {
      if (answer) messages = withMessage(messages, answer);
      const { outcome, failure } = endOf(turn[index]);
      if (outcome && answer) ended = new Map([...outcomes, [answer.id, outcome]]);
      problem ??= failure;
      snapshots.push(problem === undefined ? { messages, outcomes: ended } : { messages, outcomes, failure: problem });
    }
    outcomes = ended;
  }
  return snapshots;
}

/** Return the error text that ended the newest turn. */
export function failureOf(rows: Row[]): string | undefined {
  return turnsOf(rows).at(-1)?.map((row) => endOf(row).failure).find((failure) => failure !== undefined);
}

/** Return the outcome of the answer that a row ends. */
function endOf(row: Row | undefined): { outcome?: Outcome; failure?: string } {
  const chunk = row?.chunks.find(({ chunk }) => chunk?.type === "error" || chunk?.type === "abort")?.chunk;
  if (chunk === undefined) return {};
  if (chunk.type === "abort") return { outcome: { type: "stopped" } };
  const errorText = String(chunk["errorText"]);
  return { outcome: { type: "failed", errorText }, failure: errorText };
}

function turnsOf(rows: Row[]): Row[][] {
  const turns: Row[][] = [];
  for (const row of rows) {
    if (row.entry.turn || turns.length === 0) turns.push([]);
    turns.at(-1)?.push(row);
  }
  return turns;
}

/** Return the assistant's message after each row of a turn as the client builds it. `undefined` while there is no message. */
async function answersOf(turn: Row[], begun: ChatMessage | undefined): Promise<(ChatMessage | undefined)[]> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      turn.forEach(({ chunks }, row) => {
        for (const { chunk } of chunks) if (chunk && chunk.type !== "error") controller.enqueue(chunk as unknown as UIMessageChunk);
        if (chunks.length > 0) controller.enqueue({ type: "message-metadata", messageMetadata: { [ROW]: row } });
      });
      controller.close();
    },
  });
  const answers: (ChatMessage | undefined)[] = [];
  // Copy the message, because the client changes the message that it gets.
  const messages = readUIMessageStream<ChatMessage>({ stream, ...(begun && { message: structuredClone(begun) }) });
  for await (const message of messages) {
    const { [ROW]: row, ...metadata } = (message.metadata ?? {}) as Record<string, unknown>;
    if (typeof row === "number") answers[row] = { ...message, metadata } as ChatMessage;
  }
  let last = begun;
  return turn.map((_row, index) => (last = answers[index] ?? last));
}

/** Key for the number of rows after which the message had this content. */
const ROW = "recordedRow";

function withMessage(messages: ChatMessage[], message: ChatMessage): ChatMessage[] {
  const known = messages.findIndex(({ id }) => id === message.id);
  return known < 0 ? [...messages, message] : messages.with(known, message);
}
