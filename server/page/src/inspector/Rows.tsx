import { ChevronDown } from "lucide-react";
import { createContext, memo, useContext, useLayoutEffect, useRef, useState } from "react";
import { WithCode } from "./WithCode";
import { askedBy, authorOf, detailOf, type Entry, inBytes, inSeconds, kindOf, type Row, wordsOf } from "./entries";
import { ChunkSize, EventFigures, sizeOf } from "./Figures";
import type { Finding } from "./inspector-api";
import { Excerpt, Marked, Searched } from "./Marked";
import { ModelRow, FailureRow } from "./ObservedRow";
import { Author, CELL, RowButton, TEXTS } from "./RowButton";
import { RuleLink } from "./Rules";
import { chunkCounts, COLOURS, familyOfChunk, familyOfEvent, familyOfRow, familyOfSent, type Family, hitIn, isRun, type Item, type Run, whyNothing } from "./runs";
import { TurnTiming } from "./TurnTiming";

/** Findings of each chunk, by the number of its entry. */
export const Marks = createContext(new Map<number, Finding[]>());

/** Function that shows the description of a rule. */
export const RuleChoice = createContext<(name: string) => void>(() => {});

export function byNumber(findings: Finding[]): Map<number, Finding[]> {
  const found = new Map<number, Finding[]>();
  for (const finding of findings) {
    if (finding.number !== undefined) found.set(finding.number, [...(found.get(finding.number) ?? []), finding]);
  }
  return found;
}

/** Return the classes of a row with findings. Its edge is red if a finding is an error. */
function edgeOf(found: Finding[] = []): string {
  if (found.length === 0) return "";
  const isBad = found.some(({ severity }) => severity === "error");
  return `relative before:absolute before:inset-y-0 before:start-0 before:z-10 before:w-1 ${isBad ? "before:bg-destructive" : "before:bg-warning"}`;
}

type Choice = { chosen: Entry | undefined; onChoose: (entry: Entry) => void };

/** Number of rows that are drawn together. */
const BLOCK = 50;

/** Rows below the header of a turn. `turn`: undefined for rows without a turn. */
export type Section = { key: number; turn: Row | undefined; items: Item[] };

type SectionViewProps = Choice & { section: Section; /** All rows of the turn, also those that the filter hides. */ rows: Row[] | undefined };

/** A turn. Its header stays visible while one of its rows is visible. */
export function SectionView({ section: { turn, items }, rows, ...choice }: SectionViewProps) {
  const box = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const [line, timing] = [...(box.current?.querySelectorAll<HTMLElement>("[data-header]") ?? [])].map((part) => part.offsetHeight);
    box.current?.style.setProperty("--line", `${line ?? 0}px`);
    box.current?.style.setProperty("--header", `calc(var(--heads) + ${(line ?? 0) + (timing ?? 0)}px)`); // the header must not cover the row that is scrolled to
  });
  const blocks = Array.from({ length: Math.ceil(items.length / BLOCK) }, (_, index) => index * BLOCK);
  return (
    <section ref={box}>
      {turn?.entry.turn && (
        // `contents`: the parts of the header stick to the top of the list, not to the top of a box of their own.
        <div data-row={turn.key} className="contents">
          <div className="sticky top-(--heads) z-20 bg-muted" data-turn data-header>
            <RowButton side="event" wide pressed={turn.entry === choice.chosen} onClick={() => choice.onChoose(turn.entry)}>
              <span className="col-span-2 flex min-w-0 items-center gap-x-2 self-center px-4 py-1.5 @max-lg:px-3">
                <span className="shrink-0 font-medium">Turn</span>
                <span className="min-w-0 flex-1 truncate text-muted-foreground" dir="auto">
                  <Excerpt text={askedBy(turn.entry.turn, rows)} />
                </span>
              </span>
            </RowButton>
          </div>
          <div className="sticky top-[calc(var(--heads)+var(--line))] z-20 border-b bg-muted px-4 pb-1 @max-lg:px-3" data-header>
            {rows && <TurnTiming rows={rows} {...choice} />}
          </div>
        </div>
      )}
      {blocks.map((from) => (
        <Block key={from} items={items.slice(from, from + BLOCK)} {...choice} />
      ))}
    </section>
  );
}

type BlockProps = Choice & { items: Item[] };

/** A block of rows. It is drawn again if a row changes, or if the chosen entry is or was in it. The browser lays it out only while it is visible. */
const Block = memo(
  function Block({ items, ...choice }: BlockProps) {
    return (
      <ol className="[contain-intrinsic-size:auto_1800px] [content-visibility:auto]">
        {items.map((item) => (isRun(item) ? <RunRow key={item.key} run={item} {...choice} /> : <AnyRow key={item.key} row={item} {...choice} />))}
      </ol>
    );
  },
  (before, now) =>
    before.items.length === now.items.length &&
    before.items.every((item, index) => item === now.items[index]) &&
    (before.chosen === now.chosen || (!holds(before.items, before.chosen) && !holds(now.items, now.chosen))),
);

function AnyRow({ row, ...choice }: RowProps) {
  const hit = useHit(row);
  if (row.entry.prompt) return <ModelRow row={row} prompt={row.entry.prompt} hit={hit} {...choice} />;
  if (row.entry.failure) return <FailureRow row={row} failure={row.entry.failure} hit={hit} {...choice} />;
  return <EventRow row={row} {...choice} />;
}

type RowProps = Choice & { row: Row };

export function holds(items: Item[], entry: Entry | undefined): boolean {
  if (entry === undefined) return false;
  return items.some((item) => (isRun(item) ? holds(item.rows, entry) : item.entry === entry || item.chunks.includes(entry)));
}

/** Fragments in one row that the user can open. */
function RunRow({ run, ...props }: { run: Run } & Choice) {
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
          className="grid w-full grid-cols-2 text-start text-xs -outline-offset-2 hover:bg-accent focus-visible:outline-ring"
        >
          <span className={CELL}>
            <Dot family={run.rows[0]?.entry.event ? familyOfEvent(run.rows[0].entry.event) : "other"} />
            <span className={TEXTS}>
              <span className="wrap-anywhere">
                <Marked text={run.kind} />, {run.rows.length} fragments{" "}
                <span className="whitespace-nowrap">
                  {last !== undefined && first !== undefined && `in ${inSeconds(last - first)}`}
                  <ChevronDown className={`ms-1 inline size-3.5 align-[-0.2em] text-muted-foreground ${open ? "rotate-180" : ""}`} aria-hidden />
                </span>
              </span>
              <Author name={run.author} />
              {searched && (
                <span className="basis-full truncate text-muted-foreground" dir="auto">
                  <Excerpt text={entries.map(({ event }) => (event ? wordsOf(event) : "")).join("")} />
                </span>
              )}
            </span>
            <EventFigures {...(first !== undefined && { at: first })} bytes={sizeOf(entries)} />
          </span>
          <span className={`${CELL} border-s`}>
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
            <ChunkSize bytes={sizeOf(sent)} />
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

function EventRow({ row, chosen, onChoose }: RowProps) {
  const { key, entry, chunks, call } = row;
  const marks = useContext(Marks);
  const onRule = useContext(RuleChoice);
  const hit = useHit(row);
  return (
    <li data-row={key} className="grid grid-cols-2 border-b">
      {entry.event ? (
        <RowButton side="event" pressed={entry === chosen} onClick={() => onChoose(entry)}>
          <Dot family={familyOfRow(entry.event, chunks)} />
          <span className={TEXTS}>
            <span className="wrap-anywhere">
              <Marked text={kindOf(entry.event, call)} />
            </span>
            <Author name={authorOf(entry.event)} />
            <span className="basis-full truncate text-muted-foreground empty:hidden" dir="auto">
              <Excerpt text={wordsOf(entry.event)} />
            </span>
            {hit && (
              <span className="line-clamp-2 basis-full font-mono text-[0.6875rem] wrap-anywhere text-muted-foreground" dir="ltr">
                <Excerpt text={hit} />
              </span>
            )}
          </span>
          <EventFigures {...entry} />
        </RowButton>
      ) : (
        <span className={`${CELL} text-xs text-muted-foreground`}>
          {withoutEvent(entry) !== "" && <Dot family={entry.end === "error" ? "error" : "other"} />}
          <span className="min-w-0 flex-1">{withoutEvent(entry)}</span>
          <EventFigures {...entry} />
        </span>
      )}
      <ul className="min-w-0 border-s">
        {chunks.length === 0 && entry.event && (
          <li className="py-1 ps-8 pe-4 text-xs text-muted-foreground @max-lg:ps-7 @max-lg:pe-3">{whyNothing(entry.event)}</li>
        )}
        {chunks.map((chunk, index) => (
          <li key={index} className={edgeOf(marks.get(chunk.number ?? 0))}>
            <RowButton side="chunk" pressed={chunk === chosen} onClick={() => onChoose(chunk)}>
              <Dot family={familyOfSent(chunk)} />
              <span className="flex min-w-0 flex-1 flex-wrap gap-x-2">
                <span className="font-mono wrap-anywhere">
                  <Marked text={chunk.chunk?.type ?? "not JSON"} />
                </span>
                <span className="max-w-full truncate text-muted-foreground" dir="auto">
                  <Excerpt text={detailOf(chunk)} />
                </span>
              </span>
              <ChunkSize {...chunk} />
            </RowButton>
            {marks.get(chunk.number ?? 0)?.map(({ rule, text, effect }) => (
              <p key={`${rule} ${text}`} className="flex flex-col items-start ps-8 pe-4 pb-1.5 text-xs wrap-anywhere @max-lg:ps-7 @max-lg:pe-3" data-finding={rule}>
                <RuleLink name={rule} onChoose={onRule} />
                <span>
                  <WithCode text={text} />
                </span>
                <span className="text-muted-foreground">
                  <WithCode text={effect} />
                </span>
              </p>
            ))}
          </li>
        ))}
      </ul>
    </li>
  );
}

/** Return the JSON that contains the searched words, if no visible text of the row contains them. */
function useHit(row: Row): string {
  const words = useContext(Searched);
  const { entry, chunks, call } = row;
  if (words === "") return "";
  if (!entry.event) return hitIn(row, words);
  const own = [kindOf(entry.event, call), wordsOf(entry.event), authorOf(entry.event)];
  const seen = [...own, ...chunks.flatMap((sent) => [sent.chunk?.type ?? "", detailOf(sent)])];
  const isSeen = seen.some((text) => text.toLowerCase().includes(words.toLowerCase()));
  return isSeen ? "" : hitIn(row, words);
}

function withoutEvent({ closing, end, cut }: Entry): string {
  if (cut !== undefined) return `The rest is not kept: there is more than ${inBytes(cut)}.`;
  if (end !== undefined) return `End of the response: ${end}`;
  return closing ? "End of the response" : "";
}
