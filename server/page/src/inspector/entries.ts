/** What the server tells of a chat, a line of its recording each: see `stream_protocol/inspector/_entries.py`. */
export type Entry = {
  /** Grows over all chats of the user; in a file that of a chunk, from 1. */
  number?: number;
  /** Seconds since the turn began, where that is known. */
  at?: number;
  bytes?: number;
  turn?: { request: { messages?: Said[]; message?: Said; trigger?: string } | null; message_id: string | null };
  event?: AdkEvent;
  chunk?: { type: string } & Record<string, unknown>;
  /** The tool of the chunk, which an output names by the id of its call only. */
  tool?: string | undefined;
  /** The chunk was made by the end of the response, not by an event. */
  closing?: boolean;
  /** Data in a capture that is no JSON. */
  text?: string;
  end?: string;
  /** The turn was larger than this many bytes; the rest of it is not kept. */
  cut?: number;
  /** What a model was asked. */
  prompt?: Prompt;
  /** What a call of a model took, and how it ended. */
  answer?: ModelAnswer;
  /** Why the run failed. */
  failure?: Failure;
};

/** See `stream_protocol/inspector/_run_observer.py`. */
export type Prompt = {
  /** Counted over the turn, from 1. */
  call: number;
  agent: string;
  model?: string | null;
  /** So many contents are those with which the prompt of the call `of` begins. */
  repeats?: number;
  of?: number;
  /** So many contents after these are not kept. */
  omitted?: number;
  instruction?: unknown;
  contents: PromptContent[];
  tools: string[];
  config: Record<string, unknown>;
};

export type PromptContent = { role?: string; parts?: (AdkPart & Record<string, unknown>)[] };

export type ModelAnswer = {
  call: number;
  /** From the question to the end, and to the first response. */
  seconds: number;
  first?: number;
  tokens?: { in?: number; out?: number; cached?: number; thoughts?: number };
  version?: string;
  finish?: string;
  error?: string;
};

/** How far a call is that has no answer yet, or never gets one. Seconds since the question. */
export type Unanswered = {
  /** When the model began to speak. */
  first?: number;
  /** When its run was stopped or failed. */
  stopped?: number;
  /** The run has ended in another way, or the rest of it is not kept. */
  lost?: boolean;
};

export type Failure = { type: string; message: string; traceback: string };

type Said = { role: string; parts?: { type: string; text?: string; state?: string }[] };

type AdkPart = {
  text?: string;
  thought?: boolean;
  functionCall?: { name?: string; id?: string; args?: unknown };
  functionResponse?: { name?: string; id?: string; response?: unknown };
  inlineData?: { mimeType?: string; data?: string; bytes?: number };
  fileData?: { mimeType?: string };
  executableCode?: unknown;
  codeExecutionResult?: unknown;
};

export type AdkEvent = {
  author?: string;
  partial?: boolean;
  content?: { parts?: AdkPart[]; role?: string };
  groundingMetadata?: unknown;
  usageMetadata?: { candidatesTokenCount?: number; thoughtsTokenCount?: number };
  finishReason?: string;
  errorCode?: string;
  errorMessage?: string;
  actions?: Record<string, unknown>;
  customMetadata?: Record<string, unknown>;
};

/** One row: a turn, an event or the end of a response, with the chunks that it became. */
export type Row = {
  key: number;
  entry: Entry;
  chunks: Entry[];
  /** Of a model's call: how it ended. */
  answer?: ModelAnswer;
  /** So many rows there were when the answer came. */
  answeredAfter?: number;
  /** Of a model's call without an answer. */
  unanswered?: Unanswered;
  /** The name of the newest call so far: the fragments of its arguments do not repeat it. */
  call?: string | undefined;
  /** The tools of all calls so far, by the ids of the calls. */
  tools: Map<unknown, string>;
};

/** The most chunks in a row that has no event: a capture has nothing else. */
const CHUNKS_IN_ROW = 20;

/** Adds entries to rows. Rows stay the same objects as long as nothing of theirs changes, so that they are drawn once. */
export function addToRows(rows: Row[], entries: Entry[]): Row[] {
  const added = [...rows];
  const tools = rows.at(-1)?.tools ?? new Map<unknown, string>();
  for (const given of entries) {
    const { chunk } = given;
    if (typeof chunk?.["toolName"] === "string") tools.set(chunk["toolCallId"], chunk["toolName"]);
    const entry = chunk?.["toolCallId"] === undefined ? given : { ...given, tool: tools.get(chunk["toolCallId"]) };
    const asked = asking(added, entry);
    const at = asked >= 0 ? asked : added.findLastIndex(({ entry }) => !entry.prompt && !entry.failure);
    const row = added[at];
    if (row !== undefined && asked >= 0) {
      added[at] = entry.answer ? { ...row, answer: entry.answer, answeredAfter: added.length } : { ...row, entry: { ...row.entry, ...entry } };
    } else if (row !== undefined && takes(row, entry)) {
      added[at] = entry.end === undefined ? { ...row, chunks: [...row.chunks, entry] } : { ...row, entry: { ...row.entry, ...entry } };
    } else {
      const sent = entry.chunk !== undefined || entry.text !== undefined;
      const without: Entry = { ...(entry.closing && { closing: true }), ...(entry.at !== undefined && { at: entry.at }) };
      const call = (entry.event && calledBy(entry.event)) ?? added.at(-1)?.call;
      added.push({ key: added.length, entry: sent ? without : entry, chunks: sent ? [entry] : [], call, tools });
    }
  }
  return withUnanswered(added);
}

/** The first rows, as they were when there were no more: a call was not answered before its answer came. */
export function firstRows(rows: Row[], count: number): Row[] {
  const first = rows.slice(0, count).map((row) => {
    const { answer: _, answeredAfter = 0, ...asked } = row;
    return answeredAfter > count ? asked : row;
  });
  return withUnanswered(first);
}

/** Tells of each call without an answer how far it is. */
function withUnanswered(rows: Row[]): Row[] {
  return rows.map((row, index) => {
    if (!row.entry.prompt || row.answer) return row;
    const now = unansweredOf(row.entry, rows.slice(index + 1));
    return JSON.stringify(now) === JSON.stringify(row.unanswered) ? row : { ...row, unanswered: now };
  });
}

function unansweredOf({ prompt, at = 0 }: Entry, later: Row[]): Unanswered {
  const next = later.findIndex(({ entry }) => entry.turn);
  const after = next < 0 ? later : later.slice(0, next);
  const first = after.find(({ entry }) => entry.at !== undefined && speakerOf(entry.event) === prompt?.agent)?.entry.at;
  const last = after.findLast(({ entry }) => entry.end !== undefined || entry.cut !== undefined)?.entry;
  const isStopped = (last?.end === "abort" || last?.end === "error") && last.at !== undefined;
  return {
    ...(first !== undefined && { first: first - at }),
    ...(isStopped && { stopped: last.at! - at }),
    ...(!isStopped && (last || next >= 0) && { lost: true }),
  };
}

/** The agent whose model says something in the event. */
export function speakerOf(event: AdkEvent | undefined): string | undefined {
  const said = event && innermost(event);
  return said?.content?.role === "model" ? said.author : undefined;
}

function innermost(event: AdkEvent): AdkEvent {
  const nested = nestedEvent(event);
  return nested ? innermost(nested) : event;
}

/** Where the row of the model's call is that the entry belongs to; -1 if there is none yet. */
function asking(rows: Row[], { prompt, answer }: Entry): number {
  const call = prompt?.call ?? answer?.call;
  if (call === undefined) return -1;
  const turn = rows.findLastIndex(({ entry }) => entry.turn);
  return rows.findIndex(({ entry }, index) => index > turn && entry.prompt?.call === call);
}

/** The name of the last call in an event. */
function calledBy(event: AdkEvent): string | undefined {
  return (nestedEvent(event) ?? event).content?.parts?.findLast(({ functionCall }) => functionCall?.name)?.functionCall?.name;
}

/** Whether the entry belongs to the row: an event's chunks do, and the end of a response to the chunks that it made. */
function takes({ entry: row, chunks }: Row, entry: Entry): boolean {
  if (entry.closing || entry.end !== undefined) return row.closing === true && row.end === undefined;
  if (entry.chunk === undefined && entry.text === undefined) return false;
  if (row.event !== undefined) return true;
  return chunks.length > 0 && chunks.length < CHUNKS_IN_ROW && !row.closing;
}

/** The event of an agent inside a tool call, which the given event carries. */
export function nestedEvent({ customMetadata = {} }: AdkEvent): AdkEvent | undefined {
  return (customMetadata["adk_ui_stream_nested_event"] as { event?: AdkEvent } | undefined)?.event;
}

/** A tool has sent this event while it ran. */
export function isPosted({ customMetadata = {} }: AdkEvent): boolean {
  return customMetadata["adk_ui_stream_posted"] !== undefined;
}

/** The agent of an event, behind those in whose calls it runs. */
export function authorOf(event: AdkEvent): string {
  const nested = nestedEvent(event);
  return nested ? `${event.author} › ${authorOf(nested)}` : (event.author ?? "nobody");
}

/** What an event says or does, in a few words. `call`: the name of the call that is open. */
export function kindOf(event: AdkEvent, call = ""): string {
  const nested = nestedEvent(event);
  if (nested) return kindOf(nested, call);
  if (isPosted(event)) return "data of a running tool";
  const { partial, content, errorCode, groundingMetadata, actions = {}, customMetadata = {} } = event;
  const kinds = (content?.parts ?? []).map((part) => kindOfPart(part, partial === true, call));
  if ((customMetadata["adk_ui_stream"] as { steering?: unknown } | undefined)?.steering) kinds.unshift("message to the running agent");
  if (groundingMetadata) kinds.push("sources");
  if (errorCode) kinds.push(`error ${errorCode}`);
  if (typeof actions.transferToAgent === "string") kinds.push(`transfer to ${actions.transferToAgent}`);
  for (const [key, name] of Object.entries(ACTIONS)) {
    const action = actions[key];
    if (action && (typeof action !== "object" || Object.keys(action).length > 0)) kinds.push(name);
  }
  const counts = new Map<string, number>();
  for (const kind of kinds.filter(Boolean)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => (count > 1 ? `${kind} × ${count}` : kind)).join(", ") || "no content";
}

const ACTIONS = {
  stateDelta: "state",
  artifactDelta: "artifact",
  escalate: "escalation",
  requestedToolConfirmations: "asks for approval",
  requestedAuthConfigs: "asks to sign in",
  rewindBeforeInvocationId: "rewind",
  compaction: "compaction",
};

function kindOfPart(part: AdkPart, partial: boolean, call: string): string {
  const name = part.functionCall?.name ?? part.functionResponse?.name ?? "";
  if (part.functionCall && partial) return name ? `call ${name} begins` : `arguments of ${call || "a call"}, a fragment`;
  if (part.functionCall) return `call ${name}`;
  if (part.functionResponse) return `result ${name}`;
  if (part.inlineData ?? part.fileData) return part.inlineData?.mimeType ?? part.fileData?.mimeType ?? "file";
  if (part.executableCode) return "code";
  if (part.codeExecutionResult) return "result of code";
  if (!part.text) return "";
  const kind = part.thought ? "thought" : "text";
  return partial ? `${kind}, a fragment` : kind;
}

/** The most characters of words in a row. */
const EXCERPT = 80;

/** So many characters are shown before a hit, which stands at the beginning of a narrow row. */
const BEFORE_HIT = 8;

/** The beginning of a text, or its part around the first hit. */
export function excerptOf(text: string, words: string): string {
  const at = words === "" ? -1 : text.toLowerCase().indexOf(words.toLowerCase());
  if (at <= BEFORE_HIT) return text.slice(0, EXCERPT);
  return `…${text.slice(at - BEFORE_HIT, at - BEFORE_HIT + EXCERPT)}`;
}

/** What is said in an event. */
export function wordsOf(event: AdkEvent): string {
  const { content } = nestedEvent(event) ?? event;
  return content?.parts?.find(({ text }) => text)?.text ?? "";
}

/** What a chunk is about: its words, its tool, or the message of a tool's progress. */
export function detailOf({ chunk, tool, text = "" }: Entry): string {
  if (chunk === undefined) return text;
  const { delta, inputTextDelta, errorText, preliminary, data } = chunk;
  if (preliminary === true) return tool === undefined ? "preliminary" : `${tool}, preliminary`;
  const { message } = (data ?? {}) as { message?: unknown };
  const detail = [delta, inputTextDelta, errorText, message].find((value) => typeof value === "string");
  const words = typeof detail === "string" ? detail : "";
  return inputTextDelta === undefined && tool !== undefined ? [tool, words].filter(Boolean).join(": ") : words;
}

/** What the user said or did, by which the turn began. A file may have no request: then the first event tells it. */
export function askedBy({ request }: NonNullable<Entry["turn"]>, rows: Row[] = []): string {
  const said = request?.message ?? request?.messages?.at(-1);
  if (said?.role === "user") return said.parts?.find(({ type }) => type === "text")?.text ?? "a message without text";
  if (said) return ANSWERED;
  const event = rows.find(({ entry }) => entry.event)?.entry.event;
  if (event?.author !== "user") return "without its user message";
  return event.content?.parts?.some(({ functionResponse }) => functionResponse) ? ANSWERED : wordsOf(event);
}

const ANSWERED = "an answer to the agent's calls";

/** A duration, rounded in the same way everywhere. */
export function inSeconds(at: number | undefined): string {
  if (at === undefined) return "";
  const milliseconds = at * 1000;
  if (milliseconds >= 999.5) return `${at.toFixed(2)} s`;
  return milliseconds < 0.95 ? `${Number(milliseconds.toFixed(1))} ms` : `${Math.round(milliseconds)} ms`;
}

export function inBytes(bytes: number): string {
  return bytes < 1000 ? `${bytes} B` : bytes < 999_500 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
