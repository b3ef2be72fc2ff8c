import type { Entry, Row } from "./entries";
import { isStopOfCall } from "./runs";

/** `waiting`: nobody has answered; a tool waits for the user where its run has ended. `stopped`: it ended with its run. */
export type SpanState = "waiting" | "streaming" | "running" | "stopped" | "ended";

/** One model call or tool call. Times in seconds from the beginning of the turn. */
export type Span = {
  name: string;
  agent: string;
  from: number;
  to: number;
  /** How long it took. A measured duration is not exactly the difference of two rounded times. */
  took: number;
  /** When the model began to speak, if that is known. */
  first?: number;
  isTool: boolean;
  failed: boolean;
  state: SpanState;
  entry: Entry;
};

/** What one turn took. Times in seconds from its beginning. */
export type Timing = { first?: number; total: number; spans: Span[]; tokens: number; bytesIn: number; bytesOut: number };

/** The times of the turn that begins with the first of these rows; `undefined` where none are known. */
export function timingOf(rows: Row[]): Timing | undefined {
  const timing: Timing = { total: 0, spans: [], tokens: 0, bytesIn: 0, bytesOut: 0 };
  for (const { entry, chunks } of rows) {
    timing.bytesOut += chunks.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
    const { event, at } = entry;
    if (at !== undefined) timing.total = Math.max(timing.total, at);
    if (!event || event.author === "user" || at === undefined) continue;
    timing.bytesIn += entry.bytes ?? 0;
    if (event.content?.role !== "model") continue;
    timing.first ??= at;
    const { candidatesTokenCount = 0, thoughtsTokenCount = 0 } = event.usageMetadata ?? {};
    if (!event.partial) timing.tokens += candidatesTokenCount + thoughtsTokenCount;
  }
  const asked = askedSpans(rows);
  const spans = [...(asked.length > 0 ? asked : modelSpans(rows)), ...toolSpans(rows)];
  // A model's answer is noted after the chunks that it became, so its bar may end after the response.
  for (const { to } of spans) if (to !== OPEN) timing.total = Math.max(timing.total, to);
  if (timing.total === 0) return undefined;
  timing.spans = spans.map((span) => untilNow(span, timing.total)).sort((one, other) => one.from - other.from);
  return timing;
}

/** A span before the end of the turn is known: what still goes on has no end. */
type Begun = Omit<Span, "took"> & { took?: number };

const OPEN = Infinity;

function untilNow(span: Begun, total: number): Span {
  const to = Math.min(span.to, total);
  return { ...span, to, took: span.took ?? to - span.from };
}

/** The times of the marks on an axis, and their texts: no two are the same. */
export function marksOf(total: number): { at: number; text: string }[] {
  const power = 10 ** Math.floor(Math.log10(total / MARKS));
  const step = power * ([1, 2, 5].find((each) => total / (each * power) <= MARKS) ?? 10);
  const [unit, factor] = total < 1 ? ["ms", 1000] : ["s", 1];
  const digits = Math.max(0, -Math.floor(Math.log10(step * factor) + 1e-9));
  const count = Math.floor(total / step + 1e-9) + 1;
  return Array.from({ length: count }, (_, index) => ({ at: index * step, text: index === 0 ? "0" : `${(index * step * factor).toFixed(digits)} ${unit}` }));
}

/** The most steps on an axis. */
const MARKS = 5;

/** The calls of models whose prompts are known. */
function askedSpans(rows: Row[]): Begun[] {
  return rows.flatMap(({ entry, answer, unanswered = {} }) => {
    const { prompt, at } = entry;
    if (!prompt || at === undefined) return [];
    const seconds = answer?.seconds ?? unanswered.stopped;
    const begun = (answer ?? unanswered).first;
    const state = answer || unanswered.lost ? "ended" : unanswered.stopped !== undefined ? "stopped" : begun === undefined ? "waiting" : "streaming";
    return [
      {
        name: "model",
        agent: prompt.agent,
        from: at,
        to: seconds === undefined ? OPEN : at + seconds,
        ...(seconds !== undefined && { took: seconds }),
        ...(begun !== undefined && { first: at + begun }),
        isTool: false,
        failed: answer?.error !== undefined,
        state,
        entry,
      },
    ];
  });
}

/** When models were at work, as far as the events tell. */
function modelSpans(rows: Row[]): Begun[] {
  const spans: Begun[] = [];
  let model: Begun | undefined;
  let asked = 0;
  for (const { entry } of rows) {
    const { event, at } = entry;
    if (!event || event.author === "user" || at === undefined) continue;
    const parts = event.content?.parts ?? [];
    if (parts.some(({ functionResponse }) => functionResponse)) [asked, model] = [at, undefined];
    if (event.errorCode && model) model.failed = true;
    if (event.content?.role !== "model" || parts.some(({ functionCall }) => functionCall?.name?.startsWith("adk_request_"))) continue;
    if (model === undefined) {
      model = { name: "model", agent: event.author ?? "", from: asked, to: at, first: at, isTool: false, failed: false, state: "ended", entry };
      spans.push(model);
    }
    model.to = at;
  }
  return spans;
}

const FAILED = new Set(["tool-output-error", "tool-input-error"]);

function toolSpans(rows: Row[]): Begun[] {
  const spans: Begun[] = [];
  const begun = new Map<string, Begun>();
  const end = rows.findLast(({ entry }) => entry.end !== undefined)?.entry;
  const left = end === undefined ? "running" : end.end === "finish" ? "waiting" : "stopped";
  for (const { entry, chunks } of rows) {
    const { event, at } = entry;
    for (const { chunk, at: sent } of chunks) {
      const span = chunk && FAILED.has(chunk.type) && !isStopOfCall(chunk) ? begun.get(String(chunk["toolCallId"])) : undefined;
      if (span) Object.assign(span, { failed: true, state: "ended", to: span.state === "ended" ? span.to : (sent ?? OPEN) });
    }
    if (!event || event.partial || at === undefined) continue;
    for (const { functionCall, functionResponse } of event.content?.parts ?? []) {
      const span = begun.get(functionResponse?.id ?? "");
      if (span && span.state !== "ended") Object.assign(span, { to: at, state: "ended" });
      if (!functionCall || functionCall.name?.startsWith("adk_request_")) continue;
      const call: Begun = { name: functionCall.name ?? "", agent: event.author ?? "", from: at, to: OPEN, isTool: true, failed: false, state: left, entry };
      begun.set(functionCall.id ?? "", call);
      spans.push(call);
    }
  }
  return spans;
}
