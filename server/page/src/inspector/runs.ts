import { type AdkEvent, authorOf, type Entry, isPosted, kindOf, nestedEvent, type Row } from "./entries";

/** Kind of a row. Each kind has a colour and a filter. */
export type Family = "model" | "text" | "reasoning" | "tool" | "approval" | "data" | "error" | "other";

export const FAMILIES: Record<Exclude<Family, "other">, string> = {
  model: "Model calls",
  text: "Text",
  reasoning: "Reasoning",
  tool: "Tools",
  approval: "Approvals",
  data: "Data and files",
  error: "Errors",
};

export const COLOURS: Record<Family, string> = {
  model: "bg-(--code-literal)",
  text: "bg-foreground",
  reasoning: "bg-(--code-keyword)",
  tool: "bg-(--code-string)",
  approval: "bg-warning",
  data: "bg-[light-dark(oklch(0.56_0.17_350),oklch(0.76_0.13_350))]",
  error: "bg-destructive",
  other: "bg-border",
};

const PREFIXES: [string, Family][] = [
  ["error", "error"],
  ["tool-output-error", "error"],
  ["tool-input-error", "error"],
  ["text-", "text"],
  ["reasoning-file", "data"],
  ["reasoning-", "reasoning"],
  ["tool-approval-", "approval"],
  ["tool-output-denied", "approval"],
  ["tool-", "tool"],
  ["data-", "data"],
  ["file", "data"],
  ["source-", "data"],
];

export function familyOfChunk(type: string): Family {
  return PREFIXES.find(([prefix]) => type.startsWith(prefix))?.[1] ?? "other";
}

/** The server's error text for a call that was stopped. This is not an error of the tool. */
const RUN_STOPPED = "The run was stopped before the tool finished.";

export function isStopOfCall({ type, errorText }: NonNullable<Entry["chunk"]>): boolean {
  return type === "tool-output-error" && errorText === RUN_STOPPED;
}

export function familyOfSent({ chunk }: Entry): Family {
  if (chunk === undefined) return "error"; // not JSON
  return isStopOfCall(chunk) ? "tool" : familyOfChunk(chunk.type);
}

const CONFIRMATION = "adk_request_confirmation";

/** Return the kind of an event: that of its first part. */
export function familyOfEvent(event: AdkEvent): Family {
  const nested = nestedEvent(event);
  if (nested) return familyOfEvent(nested);
  if (isPosted(event)) return "data";
  if (event.errorCode) return "error";
  if (Object.keys((event.actions?.requestedToolConfirmations as object | undefined) ?? {}).length > 0) return "approval";
  for (const part of event.content?.parts ?? []) {
    if (part.functionCall?.name === CONFIRMATION) return "approval";
    if (part.functionCall ?? part.functionResponse ?? part.executableCode ?? part.codeExecutionResult) return "tool";
    if (part.inlineData ?? part.fileData) return "data";
    if (part.text) return part.thought ? "reasoning" : "text";
  }
  return "other";
}

/** Return the kind of a row's event. The result of a failed tool is an error. */
export function familyOfRow(event: AdkEvent, chunks: Entry[]): Family {
  const family = familyOfEvent(event);
  return family === "tool" && chunks.some((sent) => familyOfSent(sent) === "error") ? "error" : family;
}

function familiesOf({ entry, chunks, answer }: Row): Set<Family> {
  const families = chunks.flatMap((sent) => (sent.chunk ? [familyOfSent(sent)] : []));
  if (entry.prompt) return new Set(answer?.error === undefined ? ["model"] : ["model", "error"]);
  if (entry.failure) return new Set(["error"]);
  return new Set(entry.event ? [familyOfEvent(entry.event), ...families] : families);
}

/** Return the number of rows of each kind. */
export function countFamilies(rows: Row[]): Map<Family, number> {
  const counts = new Map<Family, number>();
  for (const row of rows) for (const family of familiesOf(row)) counts.set(family, (counts.get(family) ?? 0) + 1);
  return counts;
}

/** Return the rows of these kinds that contain the words. Without kinds, rows of all kinds. A turn stays if one of its rows stays. */
export function filtered(rows: Row[], families: Set<Family>, words: string): Row[] {
  if (families.size === 0 && words === "") return rows;
  const wanted = words.toLowerCase();
  const kept = rows.filter((row) => {
    if (row.entry.turn) return true;
    const isOfThese = families.size === 0 || [...familiesOf(row)].some((family) => families.has(family));
    return isOfThese && (wanted === "" || textOf(row).includes(wanted));
  });
  return kept.filter((row, index) => !row.entry.turn || (kept[index + 1] !== undefined && !kept[index + 1]?.entry.turn));
}

/** Return the JSON of a row if it contains the words. */
export function hitIn(row: Row, words: string): string {
  return words !== "" && textOf(row).includes(words.toLowerCase()) ? jsonOf(row) : "";
}

const TEXTS = new WeakMap<Row, string>();

function textOf(row: Row): string {
  const known = TEXTS.get(row);
  if (known !== undefined) return known;
  const text = jsonOf(row).toLowerCase();
  TEXTS.set(row, text);
  return text;
}

function jsonOf({ entry, chunks }: Row): string {
  return [entry, ...chunks].map(({ event, chunk, text, end, prompt, failure }) => JSON.stringify(event ?? chunk ?? text ?? prompt ?? failure ?? end ?? "")).join("\n");
}

/** Consecutive fragments in one row. */
export type Run = { key: number; kind: string; author: string; rows: Row[] };

export type Item = Row | Run;

export function isRun(item: Item): item is Run {
  return "rows" in item;
}

/** Minimum number of fragments of a run. */
const FEWEST = 4;

const RUNS = new WeakMap<Row, Run>();

/** Return the rows with runs of fragments as one item. An unchanged run stays the same object. */
export function withRuns(rows: Row[]): Item[] {
  const items: Item[] = [];
  let run: Row[] = [];
  const close = () => {
    items.push(...(run.length < FEWEST ? run : [asRun(run)]));
    run = [];
  };
  for (const row of rows) {
    const last = run.at(-1);
    if (last !== undefined && (!isFragment(row) || signature(row) !== signature(last))) close();
    if (isFragment(row)) run.push(row);
    else items.push(row);
  }
  close();
  return items;
}

function isFragment({ entry }: Row): boolean {
  return entry.event?.partial === true && !entry.event.errorCode;
}

function signature({ entry, call }: Row): string {
  return entry.event ? `${authorOf(entry.event)} ${kindOf(entry.event, call)}` : "";
}

function asRun(rows: Row[]): Run {
  const first = rows[0] as Row;
  const known = RUNS.get(first);
  if (known && known.rows.length === rows.length && known.rows.at(-1) === rows.at(-1)) return known;
  const event = first.entry.event ?? {};
  const run = { key: first.key, kind: kindOf(event, first.call).replace(", a fragment", ""), author: authorOf(event), rows };
  RUNS.set(first, run);
  return run;
}

/** Return the number of chunks of each type in a run. */
export function chunkCounts({ rows }: Run): [string, number][] {
  const counts = new Map<string, number>();
  for (const { chunks } of rows) {
    for (const { chunk } of chunks) counts.set(chunk?.type ?? "not JSON", (counts.get(chunk?.type ?? "not JSON") ?? 0) + 1);
  }
  return [...counts];
}

/** Tools of ADK that control agents. */
const STEERING = new Set(["transfer_to_agent", "set_model_response", "exit_loop", "finish_task"]);

/** Return the reason why an event has no chunk. */
export function whyNothing(posted: AdkEvent): string {
  const event = nestedEvent(posted) ?? posted;
  const parts = event.content?.parts ?? [];
  const names = parts.flatMap(({ functionCall, functionResponse }) => functionCall?.name ?? functionResponse?.name ?? []);
  if (event.author === "user") return "No chunk: the page already shows the user's message.";
  if (event.errorCode) return "No chunk: the run failed. The end of the response has the error.";
  if (names.includes(CONFIRMATION)) return "No chunk: the approval is shown on its call.";
  if (names.length > 0 && names.every((name) => STEERING.has(name))) return "No chunk: the call steers the agents, and is hidden from the page.";
  if (!event.partial && parts.some(({ text }) => text)) return "No chunk: the fragments above have sent this text.";
  if (!event.partial && parts.some(({ functionCall }) => functionCall)) return "No chunk: the fragments above have sent this call.";
  if (parts.some(({ functionResponse }) => functionResponse)) return "No chunk: the call waits for the user, or is hidden from the page.";
  if (parts.some(({ text }) => text === "")) return emptyOf(event);
  return Object.keys(event.actions ?? {}).length > 0 ? "No chunk: only the state changes." : "No chunk: the event has no content.";
}

/** Return the reason for an event with an empty text. */
function emptyOf({ usageMetadata, groundingMetadata, finishReason }: AdkEvent): string {
  const facts = [usageMetadata && "token usage", groundingMetadata && "sources", finishReason && `the finish reason ${finishReason}`];
  const known = facts.filter(Boolean).join(" and ");
  return known === "" ? "No chunk: the event has no content." : `No chunk: only ${known}.`;
}

/** Return the state after all events. */
export function stateOf(rows: Row[]): Record<string, unknown> {
  const deltas = rows.map(({ entry }) => entry.event?.actions?.stateDelta).filter((delta) => typeof delta === "object");
  return Object.assign({}, ...deltas);
}
