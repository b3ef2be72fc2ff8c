import { type Entry, innermost, nestedCallOf, type Row } from "./entries";
import { isStopOfCall } from "./runs";

/** `waiting`: a model has not answered, or a tool waits for the user. `stopped`: the call ended with its run. */
export type SpanState = "waiting" | "streaming" | "running" | "stopped" | "ended";

/** A model call or tool call. Times are seconds from the beginning of the turn. */
export type Span = {
  name: string;
  agent: string;
  from: number;
  to: number;
  /** Measured duration in seconds. Because times are rounded, it may differ from `to - from`. */
  took: number;
  /** Time of the model's first response. Absent if unknown. */
  first?: number;
  isTool: boolean;
  /** Number of agents above the agent of the call. */
  depth: number;
  /** Position among the calls with the same name, from 1. Absent if there is only one. */
  number?: number;
  failed: boolean;
  state: SpanState;
  entry: Entry;
};

/** Times of a turn, in seconds from its beginning. */
export type Timing = { first?: number; total: number; spans: Span[]; tokens: number; bytesIn: number; bytesOut: number };

/** Return the times of a turn. `rows`: the rows of the turn. `undefined` if no time is known. */
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
  const tools = toolSpans(rows);
  const asked = askedSpans(rows, tools);
  const spans = [...(asked.length > 0 ? asked : modelSpans(rows)), ...tools].sort((one, other) => one.from - other.from);
  // The server notes a model's answer after its chunks, so the bar may end after the response.
  for (const { to } of spans) if (to !== OPEN) timing.total = Math.max(timing.total, to);
  if (timing.total === 0) return undefined;
  const levels = levelsOf(rows);
  numberEqual(spans);
  timing.spans = asTree(spans).map((span) => untilNow(span, timing.total, depthOf(span, levels)));
  return timing;
}

/** A span before the end of the turn is known. `caller`: the tool call that the span's agent answers. */
type Begun = Omit<Span, "took" | "depth"> & { took?: number; caller?: Begun | undefined };

/** Return the spans with the spans of a called agent directly below its call. */
function asTree(spans: Begun[]): Begun[] {
  const called = grouped(spans, ({ caller }) => caller);
  const below = (caller?: Begun): Begun[] => (called.get(caller) ?? []).flatMap((span) => [span, ...below(span)]);
  return below();
}

function grouped<Key>(spans: Begun[], keyOf: (span: Begun) => Key): Map<Key, Begun[]> {
  const groups = new Map<Key, Begun[]>();
  for (const span of spans) {
    const group = groups.get(keyOf(span));
    if (group) group.push(span);
    else groups.set(keyOf(span), [span]);
  }
  return groups;
}

/** Number the spans that have the same name. */
function numberEqual(spans: Begun[]): void {
  for (const equal of grouped(spans, ({ name }) => name).values()) {
    if (equal.length > 1) equal.forEach((span, index) => (span.number = index + 1));
  }
}

/** Return the depth of each agent that another agent has transferred the conversation to. */
function levelsOf(rows: Row[]): Map<string, number> {
  const levels = new Map<string, number>();
  for (const { entry } of rows) {
    const { author = "", actions } = entry.event ?? {};
    const next = actions?.["transferToAgent"];
    if (typeof next !== "string") continue;
    const level = levels.get(author) ?? 0;
    levels.set(author, level);
    if (!levels.has(next)) levels.set(next, level + 1);
  }
  return levels;
}

function depthOf({ agent, caller }: Begun, levels: Map<string, number>): number {
  return caller ? depthOf(caller, levels) + 1 : (levels.get(agent) ?? 0);
}

const OPEN = Infinity;

function untilNow({ caller: _, ...span }: Begun, total: number, depth: number): Span {
  const to = Math.min(span.to, total);
  return { ...span, to, took: span.took ?? to - span.from, depth };
}

/** Return the times and texts of the marks on an axis. All texts differ. */
export function marksOf(total: number): { at: number; text: string }[] {
  const power = 10 ** Math.floor(Math.log10(total / MARKS));
  const step = power * ([1, 2, 5].find((each) => total / (each * power) <= MARKS) ?? 10);
  const [unit, factor] = total < 1 ? ["ms", 1000] : ["s", 1];
  const digits = Math.max(0, -Math.floor(Math.log10(step * factor) + 1e-9));
  const count = Math.floor(total / step + 1e-9) + 1;
  return Array.from({ length: count }, (_, index) => ({ at: index * step, text: index === 0 ? "0" : `${(index * step * factor).toFixed(digits)} ${unit}` }));
}

/** Maximum number of steps on an axis. */
const MARKS = 5;

/** Return the model calls of the prompts. */
function askedSpans(rows: Row[], tools: Begun[]): Begun[] {
  const counts = new Map<Begun, number>();
  return rows.flatMap(({ entry, answer, unanswered = {} }) => {
    const { prompt, at } = entry;
    if (!prompt || at === undefined) return [];
    const seconds = answer?.seconds ?? unanswered.stopped;
    const begun = (answer ?? unanswered).first;
    const state = answer || unanswered.lost ? "ended" : unanswered.stopped !== undefined ? "stopped" : begun === undefined ? "waiting" : "streaming";
    const caller = callerOf(prompt.agent, at, tools, counts);
    if (caller) counts.set(caller, (counts.get(caller) ?? 0) + 1);
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
        caller,
      },
    ];
  });
}

/** Return the open call of an agent. A prompt does not name its call: of parallel calls, the one with the fewest prompts is returned. */
function callerOf(agent: string, at: number, tools: Begun[], counts: Map<Begun, number>): Begun | undefined {
  const open = tools.filter(({ name, from, to }) => name === agent && from <= at && at <= to);
  const [least] = open.sort((one, other) => (counts.get(one) ?? 0) - (counts.get(other) ?? 0));
  return least;
}

/** Return the model calls of a recording without prompts. Their times are those of the events. */
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
    if (!event || at === undefined) continue;
    const said = innermost(event);
    if (said.partial) continue;
    const caller = begun.get(nestedCallOf(event) ?? "");
    for (const { functionCall, functionResponse } of said.content?.parts ?? []) {
      const span = begun.get(functionResponse?.id ?? "");
      if (span && span.state !== "ended") Object.assign(span, { to: at, state: "ended" });
      if (!functionCall || functionCall.name?.startsWith("adk_request_")) continue;
      const call: Begun = { name: functionCall.name ?? "", agent: said.author ?? "", from: at, to: OPEN, isTool: true, failed: false, state: left, entry, caller };
      begun.set(functionCall.id ?? "", call);
      spans.push(call);
    }
  }
  return spans;
}
