/** An entry of a chat. The server describes its keys in `stream_protocol/inspector/_entries.py`. */
export type Entry = {
  /** Number of the entry, ascending over all chats of the user. In a file: number of the chunk, from 1. */
  number?: number;
  /** Seconds since the turn began. Absent if unknown. */
  at?: number;
  bytes?: number;
  turn?: { request: { messages?: Said[]; message?: Said; trigger?: string } | null; message_id: string | null };
  /** The client sent its newest message only, as `message`. A recording has `messages` instead. */
  one_message?: boolean;
  event?: AdkEvent;
  chunk?: { type: string } & Record<string, unknown>;
  /** Name of the tool. Chunks of outputs have only the id of the call. */
  tool?: string | undefined;
  /** The end of the response caused the chunk, not an event. */
  closing?: boolean;
  /** Data in a captured response that is not JSON. */
  text?: string;
  end?: string;
  /** Maximum number of bytes of a turn. Later entries of the turn are missing. */
  cut?: number;
  /** Prompt of a model call. */
  prompt?: Prompt;
  /** End of a model call. */
  answer?: ModelAnswer;
  /** Exception that ended the run. */
  failure?: Failure;
};

/** Prompt of a model call, as `stream_protocol/inspector/_run_observer.py` writes it. */
export type Prompt = {
  /** Number of the call in its turn, from 1. */
  call: number;
  agent: string;
  model?: string | null;
  /** Number of first contents that are equal to those of the call `of`. */
  repeats?: number;
  of?: number;
  /** Number of omitted contents after the repeated contents. */
  omitted?: number;
  instruction?: unknown;
  contents: PromptContent[];
  tools: string[];
  config: Record<string, unknown>;
};

export type PromptContent = { role?: string; parts?: (AdkPart & Record<string, unknown>)[] };

export type ModelAnswer = {
  call: number;
  /** Seconds from the prompt to the end of the call. `first`: seconds to the first response. */
  seconds: number;
  first?: number;
  tokens?: { in?: number; out?: number; cached?: number; thoughts?: number };
  version?: string;
  finish?: string;
  error?: string;
};

/** State of a call without an answer. Times are seconds since the prompt. */
export type Unanswered = {
  /** Time of the first response. */
  first?: number;
  /** Time when the run was stopped or failed. */
  stopped?: number;
  /** The run has ended in another way, or its later entries are missing. */
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

/** A row: a turn, an event or the end of a response, with its chunks. */
export type Row = {
  key: number;
  entry: Entry;
  chunks: Entry[];
  /** End of a model call. */
  answer?: ModelAnswer;
  /** Number of rows when the answer came. */
  answeredAfter?: number;
  /** State of a model call without an answer. */
  unanswered?: Unanswered;
  /** Name of the newest tool call so far. Fragments of its arguments do not have the name. */
  call?: string | undefined;
  /** Names of the tools of all calls so far, by call id. */
  tools: Map<unknown, string>;
};

/** Maximum number of chunks in a row without an event. Captured responses have no events. */
const CHUNKS_IN_ROW = 20;

/** Return the rows with further entries. Unchanged rows stay the same objects, so that React does not draw them again. */
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

/** Return the first rows as they were before the later rows came. */
export function firstRows(rows: Row[], count: number): Row[] {
  const first = rows.slice(0, count).map((row) => {
    const { answer: _, answeredAfter = 0, ...asked } = row;
    return answeredAfter > count ? asked : row;
  });
  return withUnanswered(first);
}

/** Return the rows with the state of each call without an answer. */
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

/** Return the agent whose model wrote the event. */
export function speakerOf(event: AdkEvent | undefined): string | undefined {
  const said = event && innermost(event);
  return said?.content?.role === "model" ? said.author : undefined;
}

/** Return the event of the innermost agent. */
export function innermost(event: AdkEvent): AdkEvent {
  const nested = nestedEvent(event);
  return nested ? innermost(nested) : event;
}

/** Return the id of the innermost call in whose agent the event occurred. */
export function nestedCallOf(event: AdkEvent): string | undefined {
  const nested = nestedEvent(event);
  return nested && (nestedCallOf(nested) ?? metadataOf(event)?.call_id);
}

/** Return the index of the row of the entry's model call, or -1. */
function asking(rows: Row[], { prompt, answer }: Entry): number {
  const call = prompt?.call ?? answer?.call;
  if (call === undefined) return -1;
  const turn = rows.findLastIndex(({ entry }) => entry.turn);
  return rows.findIndex(({ entry }, index) => index > turn && entry.prompt?.call === call);
}

/** Return the name of the last tool call in an event. */
function calledBy(event: AdkEvent): string | undefined {
  return (nestedEvent(event) ?? event).content?.parts?.findLast(({ functionCall }) => functionCall?.name)?.functionCall?.name;
}

/** Return true if the entry belongs to the row. Chunks belong to their event, and the end of a response to its chunks. */
function takes({ entry: row, chunks }: Row, entry: Entry): boolean {
  if (entry.closing || entry.end !== undefined) return row.closing === true && row.end === undefined;
  if (entry.chunk === undefined && entry.text === undefined) return false;
  if (row.event !== undefined) return true;
  return chunks.length > 0 && chunks.length < CHUNKS_IN_ROW && !row.closing;
}

/** Return the event of an agent inside a tool call that the event contains. */
export function nestedEvent(event: AdkEvent): AdkEvent | undefined {
  return metadataOf(event)?.event;
}

function metadataOf({ customMetadata = {} }: AdkEvent): { event?: AdkEvent; call_id?: string } | undefined {
  return customMetadata["adk_ui_stream_nested_event"] as { event?: AdkEvent; call_id?: string } | undefined;
}

/** Return true if a running tool has sent the event. */
export function isPosted({ customMetadata = {} }: AdkEvent): boolean {
  return customMetadata["adk_ui_stream_posted"] !== undefined;
}

/** Return the agent of an event, after the agents that called it. */
export function authorOf(event: AdkEvent): string {
  const nested = nestedEvent(event);
  return nested ? `${event.author} › ${authorOf(nested)}` : (event.author ?? "nobody");
}

/** Return a short description of an event. `call`: name of the open tool call. */
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

/** Maximum number of characters of a text in a row. */
const EXCERPT = 80;

/** Number of characters before a hit. Few, so that a narrow row shows the hit. */
const BEFORE_HIT = 8;

/** Return the beginning of a text, or the part around the first hit. */
export function excerptOf(text: string, words: string): string {
  const at = words === "" ? -1 : text.toLowerCase().indexOf(words.toLowerCase());
  if (at <= BEFORE_HIT) return text.slice(0, EXCERPT);
  return `…${text.slice(at - BEFORE_HIT, at - BEFORE_HIT + EXCERPT)}`;
}

/** Return the first text in an event. */
export function wordsOf(event: AdkEvent): string {
  const { content } = nestedEvent(event) ?? event;
  return content?.parts?.find(({ text }) => text)?.text ?? "";
}

/** Return the text, the tool or the progress message of a chunk. */
export function detailOf({ chunk, tool, text = "" }: Entry): string {
  if (chunk === undefined) return text;
  const { delta, inputTextDelta, errorText, preliminary, data } = chunk;
  if (preliminary === true) return tool === undefined ? "preliminary" : `${tool}, preliminary`;
  const { message } = (data ?? {}) as { message?: unknown };
  const detail = [delta, inputTextDelta, errorText, message].find((value) => typeof value === "string");
  const words = typeof detail === "string" ? detail : "";
  return inputTextDelta === undefined && tool !== undefined ? [tool, words].filter(Boolean).join(": ") : words;
}

/** Return the user's text that began the turn. Without a request, the text of the first event. */
export function askedBy({ request }: NonNullable<Entry["turn"]>, rows: Row[] = []): string {
  const said = request?.message ?? request?.messages?.at(-1);
  if (said?.role === "user") return said.parts?.find(({ type }) => type === "text")?.text ?? "a message without text";
  if (said) return ANSWERED;
  const event = rows.find(({ entry }) => entry.event)?.entry.event;
  if (event?.author !== "user") return "without its user message";
  return event.content?.parts?.some(({ functionResponse }) => functionResponse) ? ANSWERED : wordsOf(event);
}

const ANSWERED = "an answer to the agent's calls";

/** Return a duration with its unit. */
export function inSeconds(at: number | undefined): string {
  if (at === undefined) return "";
  const milliseconds = at * 1000;
  if (milliseconds >= 999.5) return `${at.toFixed(2)} s`;
  return milliseconds < 0.95 ? `${Number(milliseconds.toFixed(1))} ms` : `${Math.round(milliseconds)} ms`;
}

export function inBytes(bytes: number): string {
  return bytes < 1000 ? `${bytes} B` : bytes < 999_500 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
