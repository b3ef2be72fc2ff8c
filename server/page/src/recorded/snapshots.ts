import { readUIMessageStream, type UIMessageChunk } from "ai";
import type { ChatMessage } from "../components/chat/message-types";
import type { Row } from "../inspector/entries";

/** The messages on the page after each row, and before the first. */
export async function snapshotsOf(rows: Row[]): Promise<ChatMessage[][]> {
  const snapshots: ChatMessage[][] = [[]];
  let messages: ChatMessage[] = [];
  for (const turn of turnsOf(rows)) {
    const request = turn[0]?.entry.turn?.request;
    const said = (request?.message ?? request?.messages?.at(-1)) as ChatMessage | undefined;
    if (said) messages = withMessage(messages, said);
    const drawn = await answersOf(turn, said?.role === "assistant" ? said : undefined);
    for (const answer of drawn) snapshots.push((messages = answer ? withMessage(messages, answer) : messages));
  }
  return snapshots;
}

function turnsOf(rows: Row[]): Row[][] {
  const turns: Row[][] = [];
  for (const row of rows) {
    if (row.entry.turn || turns.length === 0) turns.push([]);
    turns.at(-1)?.push(row);
  }
  return turns;
}

/** The assistant's message after each row of a turn, folded as by the client; `undefined` while there is none. */
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
  const messages = readUIMessageStream<ChatMessage>({ stream, ...(begun && { message: begun }) });
  for await (const message of messages) {
    const { [ROW]: row, ...metadata } = (message.metadata ?? {}) as Record<string, unknown>;
    if (typeof row === "number") answers[row] = { ...message, metadata } as ChatMessage;
  }
  let last = begun;
  return turn.map((_row, index) => (last = answers[index] ?? last));
}

/** The key that tells after which row of its turn a message looked so. */
const ROW = "recordedRow";

function withMessage(messages: ChatMessage[], message: ChatMessage): ChatMessage[] {
  const known = messages.findIndex(({ id }) => id === message.id);
  return known < 0 ? [...messages, message] : messages.with(known, message);
}
