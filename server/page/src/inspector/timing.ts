import type { Entry, Row } from "./entries";

/** One model call or tool call. Times in seconds from the beginning of the turn. */
export type Span = {
  name: string;
  agent: string;
  from: number;
  to: number;
  /** When the model began to speak, if that is known. */
  first?: number;
  isTool: boolean;
  failed: boolean;
  /** No end of it is known. */
  open: boolean;
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
  if (timing.total === 0) return undefined;
  const asked = askedSpans(rows, timing.total);
  const models = asked.length > 0 ? asked : modelSpans(rows);
  timing.spans = [...models, ...toolSpans(rows, timing.total)].sort((one, other) => one.from - other.from);
  return timing;
}

/** The calls of models whose prompts are known. */
function askedSpans(rows: Row[], total: number): Span[] {
  return rows.flatMap(({ entry, answer }) => {
    const { prompt, at } = entry;
    if (!prompt || at === undefined) return [];
    const to = answer ? at + answer.seconds : total;
    const first = answer?.first === undefined ? {} : { first: at + answer.first };
    return [{ name: "model", agent: prompt.agent, from: at, to, ...first, isTool: false, failed: answer?.error !== undefined, open: !answer, entry }];
  });
}

/** When models were at work, as far as the events tell. */
function modelSpans(rows: Row[]): Span[] {
  const spans: Span[] = [];
  let model: Span | undefined;
  let asked = 0;
  for (const { entry } of rows) {
    const { event, at } = entry;
    if (!event || event.author === "user" || at === undefined) continue;
    const parts = event.content?.parts ?? [];
    if (parts.some(({ functionResponse }) => functionResponse)) [asked, model] = [at, undefined];
    if (event.errorCode && model) model.failed = true;
    if (event.content?.role !== "model" || parts.some(({ functionCall }) => functionCall?.name?.startsWith("adk_request_"))) continue;
    if (model === undefined) {
      model = { name: "model", agent: event.author ?? "", from: asked, to: at, first: at, isTool: false, failed: false, open: false, entry };
      spans.push(model);
    }
    model.to = at;
  }
  return spans;
}

const FAILED = new Set(["tool-output-error", "tool-input-error"]);

function toolSpans(rows: Row[], total: number): Span[] {
  const spans: Span[] = [];
  const begun = new Map<string, Span>();
  for (const { entry, chunks } of rows) {
    const { event, at } = entry;
    for (const { chunk, at: sent } of chunks) {
      const span = chunk && FAILED.has(chunk.type) ? begun.get(String(chunk["toolCallId"])) : undefined;
      if (span) Object.assign(span, { failed: true, open: false, to: span.open ? (sent ?? total) : span.to });
    }
    if (!event || event.partial || at === undefined) continue;
    for (const { functionCall, functionResponse } of event.content?.parts ?? []) {
      const span = begun.get(functionResponse?.id ?? "");
      if (span?.open) Object.assign(span, { to: at, open: false });
      if (!functionCall || functionCall.name?.startsWith("adk_request_")) continue;
      const call = { name: functionCall.name ?? "", agent: event.author ?? "", from: at, to: at, isTool: true, failed: false, open: true, entry };
      begun.set(functionCall.id ?? "", call);
      spans.push(call);
    }
  }
  return spans.map((span) => (span.open ? { ...span, to: total } : span));
}
