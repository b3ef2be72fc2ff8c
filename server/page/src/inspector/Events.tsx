import { ChevronDown, X } from "lucide-react";
import { createContext, memo, useContext, useDeferredValue, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { IconButton } from "../components/ui/icon-button";
import { WithCode } from "./WithCode";
import { askedBy, authorOf, detailOf, type Entry, inBytes, inSeconds, kindOf, type Row, wordsOf } from "./entries";
import { Figures, sizeOf } from "./Figures";
import { Filter } from "./Filter";
import type { Finding } from "./inspector-api";
import { moveInList } from "./list-keys";
import { Excerpt, Marked, Searched } from "./Marked";
import { chunkCounts, COLOURS, countFamilies, familyOfChunk, familyOfEvent, type Family, filtered, hitIn, isRun, type Item, type Run, whyNothing, withRuns } from "./runs";
import { Shown } from "./Shown";
import { TurnTiming } from "./TurnTiming";

/** Rows that are drawn, and drawn again, together. */
const BLOCK = 50;

/** The findings of each chunk, by the number of its entry. */
const Marks = createContext(new Map<number, Finding[]>());

function byNumber(findings: Finding[]): Map<number, Finding[]> {
  const found = new Map<number, Finding[]>();
  for (const finding of findings) {
    if (finding.number !== undefined) found.set(finding.number, [...(found.get(finding.number) ?? []), finding]);
  }
  return found;
}

/** The edge of a row with findings: red if one of them is an error. */
function edgeOf(found: Finding[] = []): string {
  if (found.length === 0) return "";
  const isBad = found.some(({ severity }) => severity === "error");
  return `border-s-4 ${isBad ? "border-s-destructive" : "border-s-warning"}`;
}

type EventsProps = {
  rows: Row[];
  findings: Finding[];
  /** The number of the entry that another tab has sent the reader to. */
  target?: number | undefined;
  /** The end stays in view while more comes. */
  live?: boolean;
};

/** What came from the agent, row by row, each beside what was sent because of it. */
export function Events({ rows, findings, target, live = false }: EventsProps) {
  const [chosen, setChosen] = useState<Entry>();
  const [families, setFamilies] = useState(new Set<Family>());
  const [words, setWords] = useState("");
  const looked = useDeferredValue(words);
  const counts = useMemo(() => countFamilies(rows), [rows]);
  const shown = useMemo(() => filtered(rows, families, looked), [rows, families, looked]);
  const items = useMemo(() => withRuns(shown), [shown]);
  const turns = useMemo(() => turnsOf(rows), [rows]);
  const marks = useMemo(() => byNumber(findings), [findings]);
  const list = useFollowedEnd(rows, live);
  useEffect(() => {
    if (target === undefined) return;
    setFamilies(new Set());
    setWords("");
    const row = rows.find(({ chunks }) => chunks.some(({ number }) => number === target));
    setChosen(row?.chunks.find(({ number }) => number === target));
    // Only a new target moves the reader, not each row that comes.
  }, [target]);
  useEffect(() => {
    list.current?.querySelector("[data-row] [aria-pressed='true']")?.scrollIntoView({ block: "nearest" });
  }, [list, chosen]);
  const close = () => {
    list.current?.querySelector<HTMLElement>("[data-row] [aria-pressed='true']")?.focus();
    setChosen(undefined);
  };
  const isShown = chosen !== undefined && holds(items, chosen);
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && event.target.closest("input, textarea, select, [contenteditable]");
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      search.current?.focus();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key !== "Escape" || !chosen) return;
    event.stopPropagation();
    close();
  };
  const blocks = Array.from({ length: Math.ceil(items.length / BLOCK) }, (_, index) => index * BLOCK);
  return (
    <div className="@container flex min-h-0 flex-1 flex-col" onKeyDown={onKeyDown}>
      <Filter
        field={search}
        counts={counts}
        found={looked === "" ? undefined : shown.filter(({ entry }) => !entry.turn).length}
        families={families}
        words={words}
        onFamilies={setFamilies}
        onWords={setWords}
      />
      <div className="grid shrink-0 grid-cols-2 border-b bg-muted text-xs font-medium" aria-hidden>
        <span className="px-4 py-1.5 @max-lg:px-3">From the agent: ADK events</span>
        <span className="border-s px-4 py-1.5 @max-lg:px-3">To the page: chunks</span>
      </div>
      <div
        ref={list}
        className="min-h-0 flex-1 overflow-y-auto -outline-offset-2"
        tabIndex={0}
        role="region"
        aria-label="Events and chunks"
        aria-keyshortcuts="ArrowDown ArrowUp ArrowRight ArrowLeft Home End"
        onKeyDown={moveInList}
      >
        {items.length === 0 && <p className="p-4 text-sm text-muted-foreground">Nothing matches.</p>}
        <Marks value={marks}>
          <Searched value={looked}>
            {blocks.map((from) => (
              <Block key={from} items={items.slice(from, from + BLOCK)} turns={turns} chosen={chosen} onChoose={setChosen} />
            ))}
          </Searched>
        </Marks>
      </div>
      {isShown && (
        <section className="flex max-h-[45%] shrink-0 flex-col border-t" aria-label="The chosen entry">
          <header className="flex items-center gap-2 ps-4 pe-1.5 text-xs text-muted-foreground">
            <span className="min-w-0 flex-1 truncate">{titleOf(chosen)}</span>
            <IconButton label="Close" keys="Esc" size="small icon" onClick={close}>
              <X />
            </IconButton>
          </header>
          <div className="min-h-0 overflow-y-auto px-3 pb-3">
            <Shown key={`${chosen.number} ${titleOf(chosen)}`} value={valueOf(chosen)} label="JSON of the entry" />
          </div>
        </section>
      )}
    </div>
  );
}

/** The rows of each turn, by the key of its first. */
type Turns = Map<number, Row[]>;

function turnsOf(rows: Row[]): Turns {
  const turns: Turns = new Map();
  let turn: Row[] = [];
  for (const row of rows) {
    if (row.entry.turn) turns.set(row.key, (turn = []));
    turn.push(row);
  }
  return turns;
}

type BlockProps = { items: Item[]; turns: Turns; chosen: Entry | undefined; onChoose: (entry: Entry) => void };

/** Is drawn again if one of its rows is new, or if the chosen entry is or was in it; laid out only while it is seen. */
const Block = memo(
  function Block({ items, turns, chosen, onChoose }: BlockProps) {
    return (
      <ol className="[contain-intrinsic-size:auto_1800px] [content-visibility:auto]">
        {items.map((item) =>
          isRun(item) ? (
            <RunRow key={item.key} run={item} chosen={chosen} onChoose={onChoose} />
          ) : (
            <EventRow key={item.key} row={item} turn={turns.get(item.key)} chosen={chosen} onChoose={onChoose} />
          ),
        )}
      </ol>
    );
  },
  (before, now) =>
    before.items.length === now.items.length &&
    before.items.every((item, index) => item === now.items[index]) &&
    !now.items.some((item) => !isRun(item) && item.entry.turn && before.turns.get(item.key)?.at(-1) !== now.turns.get(item.key)?.at(-1)) &&
    (before.chosen === now.chosen || (!holds(before.items, before.chosen) && !holds(now.items, now.chosen))),
);

function holds(items: Item[], entry: Entry | undefined): boolean {
  if (entry === undefined) return false;
  return items.some((item) => (isRun(item) ? holds(item.rows, entry) : item.entry === entry || item.chunks.includes(entry)));
}

type RowProps = Pick<BlockProps, "chosen" | "onChoose">;

/** Fragments as one line, until somebody looks into them. */
function RunRow({ run, ...props }: { run: Run } & RowProps) {
  const [asked, ask] = useState(false);
  const open = asked || holds(run.rows, props.chosen);
  const entries = run.rows.map(({ entry }) => entry);
  const [first, last] = [entries[0]?.at, entries.at(-1)?.at];
  const sent = run.rows.flatMap(({ chunks }) => chunks);
  const marks = useContext(Marks);
  const marked = sent.flatMap(({ number = 0 }) => marks.get(number) ?? []);
  const searched = useContext(Searched) !== "";
  return (
    <>
      <li className={`border-b ${edgeOf(marked)}`} data-run>
        <button
          type="button"
          tabIndex={-1}
          data-side="event"
          aria-expanded={open}
          onClick={() => ask(!open)}
          className="grid w-full grid-cols-2 text-start text-xs -outline-offset-2 hover:bg-accent"
        >
          <span className="flex min-w-0 gap-x-2 px-4 py-1.5 @max-lg:flex-wrap @max-lg:content-start @max-lg:px-3">
            <Dot family={run.rows[0]?.entry.event ? familyOfEvent(run.rows[0].entry.event) : "other"} />
            <span className="flex min-w-0 flex-1 flex-col">
              <span className="wrap-anywhere">
                <Marked text={run.kind} />, {run.rows.length} fragments{last !== undefined && first !== undefined && ` in ${inSeconds(last - first)}`}
              </span>
              {searched && (
                <span className="truncate text-muted-foreground" dir="auto">
                  <Excerpt text={entries.map(({ event }) => (event ? wordsOf(event) : "")).join("")} />
                </span>
              )}
              <span className="truncate text-[0.6875rem] text-muted-foreground">
                <Marked text={run.author} />
              </span>
            </span>
            <Figures entry={{ ...(first !== undefined && { at: first }), bytes: sizeOf(entries) }} />
            <ChevronDown className={`size-4 shrink-0 text-muted-foreground ${open ? "rotate-180" : ""}`} aria-hidden />
          </span>
          <span className="flex min-w-0 gap-x-2 border-s px-4 py-1.5 @max-lg:flex-wrap @max-lg:content-start @max-lg:px-3">
            <span className="flex min-w-0 flex-1 flex-col font-mono">
              {chunkCounts(run).map(([type, count]) => (
                <span key={type} className="flex items-start gap-2 wrap-anywhere">
                  <Dot family={familyOfChunk(type)} />
                  <span>
                    {type}
                    {count > 1 && ` × ${count}`}
                  </span>
                </span>
              ))}
            </span>
            <Figures entry={{ bytes: sizeOf(sent) }} />
          </span>
        </button>
      </li>
      {open && run.rows.map((row) => <EventRow key={row.key} row={row} {...props} />)}
    </>
  );
}

function Dot({ family }: { family: Family }) {
  return <span className={`mt-1 size-2 shrink-0 rounded-full ${COLOURS[family]}`} aria-hidden />;
}

type EventRowProps = {
  row: Row;
  /** Of the first row of a turn: all of them. */
  turn?: Row[] | undefined;
} & RowProps;

function EventRow({ row, turn, chosen, onChoose }: EventRowProps) {
  const { key, entry, chunks, call } = row;
  const marks = useContext(Marks);
  const hit = useHit(row);
  if (entry.turn) {
    return (
      // Without a box of its own: its header sticks to the top of the list, not of the row.
      <li data-row={key} className="contents">
        <div className="sticky top-0 z-10 bg-muted" data-turn>
          <RowButton side="event" pressed={entry === chosen} onClick={() => onChoose(entry)}>
            <span className="shrink-0 font-medium">Turn</span>
            <span className="min-w-0 flex-1 truncate text-muted-foreground" dir="auto">
              <Excerpt text={askedBy(entry.turn)} />
            </span>
          </RowButton>
        </div>
        <div className="border-b bg-muted">{turn && <TurnTiming rows={turn} onChoose={onChoose} />}</div>
      </li>
    );
  }
  return (
    <li data-row={key} className="grid grid-cols-2 border-b">
      {entry.event ? (
        <RowButton side="event" pressed={entry === chosen} onClick={() => onChoose(entry)}>
          <Dot family={familyOfEvent(entry.event)} />
          <span className="flex min-w-0 flex-1 flex-col">
            <span className="wrap-anywhere">
              <Marked text={kindOf(entry.event, call)} />
            </span>
            <span className="truncate text-muted-foreground" dir="auto">
              <Excerpt text={wordsOf(entry.event)} />
            </span>
            <span className="truncate text-[0.6875rem] text-muted-foreground">
              <Marked text={authorOf(entry.event)} />
            </span>
            {hit && (
              <span className="line-clamp-2 font-mono text-[0.6875rem] wrap-anywhere text-muted-foreground" dir="ltr">
                <Excerpt text={hit} />
              </span>
            )}
          </span>
          <Figures entry={entry} beside />
        </RowButton>
      ) : (
        <span className="flex min-w-0 gap-x-2 px-4 py-1.5 text-xs text-muted-foreground @max-lg:flex-wrap @max-lg:content-start @max-lg:px-3">
          <span className="min-w-0 flex-1">{withoutEvent(entry)}</span>
          <Figures entry={entry} beside />
        </span>
      )}
      <ul className="min-w-0 border-s">
        {chunks.length === 0 && entry.event && (
          <li className="px-4 py-1.5 text-xs text-muted-foreground @max-lg:px-3">{whyNothing(entry.event)}</li>
        )}
        {chunks.map((chunk, index) => (
          <li key={index} className={edgeOf(marks.get(chunk.number ?? 0))}>
            <RowButton side="chunk" pressed={chunk === chosen} onClick={() => onChoose(chunk)}>
              <Dot family={chunk.chunk ? familyOfChunk(chunk.chunk.type) : "error"} />
              <span className="flex min-w-0 flex-1 flex-wrap gap-x-2">
                <span className="font-mono wrap-anywhere">
                  <Marked text={chunk.chunk?.type ?? "not JSON"} />
                </span>
                <span className="max-w-full truncate text-muted-foreground" dir="auto">
                  <Excerpt text={detailOf(chunk)} />
                </span>
              </span>
              <Figures entry={{ bytes: chunk.bytes ?? 0 }} />
            </RowButton>
            {marks.get(chunk.number ?? 0)?.map(({ rule, text }) => (
              <p key={rule} className="px-4 pb-1.5 text-xs wrap-anywhere @max-lg:px-3" data-finding={rule}>
                <WithCode text={text} />
              </p>
            ))}
          </li>
        ))}
      </ul>
    </li>
  );
}

/** Where the searched words are in a row, if no text of the row shows them. */
function useHit(row: Row): string {
  const words = useContext(Searched);
  if (words === "" || !row.entry.event) return "";
  const { entry, chunks, call } = row;
  const own = [kindOf(row.entry.event, call), wordsOf(row.entry.event), authorOf(row.entry.event)];
  const seen = [...own, ...chunks.flatMap((sent) => [sent.chunk?.type ?? "", detailOf(sent)])];
  const isSeen = seen.some((text) => text.toLowerCase().includes(words.toLowerCase()));
  return isSeen || entry.turn ? "" : hitIn(row, words);
}

type RowButtonProps = { side: "event" | "chunk"; pressed: boolean; onClick: () => void; children: React.ReactNode };

/** Reached with the arrow keys, not with Tab: there may be thousands. */
function RowButton({ side, pressed, ...rest }: RowButtonProps) {
  return (
    <button
      type="button"
      tabIndex={-1}
      data-side={side}
      aria-pressed={pressed}
      className="flex w-full min-w-0 scroll-mt-8 items-start gap-x-2 px-4 @max-lg:flex-wrap @max-lg:content-start @max-lg:px-3 py-1.5 text-start text-xs -outline-offset-2 hover:bg-accent aria-pressed:bg-accent"
      {...rest}
    />
  );
}

function withoutEvent({ closing, end, cut }: Entry): string {
  if (cut !== undefined) return `The rest is not kept: there is more than ${inBytes(cut)}.`;
  if (end !== undefined) return `End of the response: ${end}`;
  return closing ? "End of the response" : "";
}

function valueOf({ event, chunk, turn, text }: Entry): unknown {
  return event ?? chunk ?? turn ?? text;
}

function titleOf({ event, chunk, turn, at, bytes }: Entry): string {
  const name = chunk?.type ?? (event ? `Event of ${event.author ?? "nobody"}` : turn ? "Turn" : "Not JSON");
  return [name, inSeconds(at), bytes === undefined ? "" : inBytes(bytes)].filter(Boolean).join(" · ");
}

/** A box whose end stays in view while the reader is there. */
function useFollowedEnd(rows: Row[], live: boolean) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(live);
  useEffect(() => {
    const found = box.current;
    const onScroll = () => {
      if (found) atEnd.current = found.scrollHeight - found.scrollTop - found.clientHeight < 80;
    };
    found?.addEventListener("scroll", onScroll, { passive: true });
    return () => found?.removeEventListener("scroll", onScroll);
  }, []);
  useLayoutEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [rows]);
  return box;
}
