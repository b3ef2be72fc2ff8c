import { type KeyboardEvent as ReactKeyboardEvent, type MouseEvent, useDeferredValue, type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Button } from "../components/ui/button";
import { Details } from "./Details";
import { authorOf, type Entry, type Row } from "./entries";
import { Heads } from "./Figures";
import { Filter } from "./Filter";
import type { Finding } from "./inspector-api";
import { moveInList } from "./list-keys";
import { Searched } from "./Marked";
import { byNumber, holds, Marks, type Section, SectionView } from "./Rows";
import { countFamilies, type Family, filtered, isRun, type Item, withRuns } from "./runs";
import { useIsWide } from "./use-is-wide";

type EventsProps = {
  rows: Row[];
  findings: Finding[];
  chosen: Entry | undefined;
  onChoose: (entry: Entry | undefined) => void;
  /** The list scrolls to its end when new rows come. */
  follows?: boolean;
};

/** Rows of ADK events. Beside each event are its chunks. */
export function Events({ rows, findings, chosen, onChoose, follows = false }: EventsProps) {
  const [families, setFamilies] = useState(new Set<Family>());
  const [words, setWords] = useState("");
  const looked = useDeferredValue(words);
  const there = useMemo(() => countFamilies(rows), [rows]);
  const counts = useMemo(() => countFamilies(filtered(rows, NO_FAMILIES, looked)), [rows, looked]);
  const shown = useMemo(() => filtered(rows, families, looked), [rows, families, looked]);
  const items = useMemo(() => withRuns(shown), [shown]);
  const turns = useMemo(() => turnsOf(rows), [rows]);
  const sections = useMemo(() => sectionsOf(items), [items]);
  const agents = useMemo(() => new Set(rows.flatMap(({ entry }) => (entry.event && entry.event.author !== "user" ? authorOf(entry.event) : []))), [rows]);
  const marks = useMemo(() => byNumber(findings), [findings]);
  const list = useFollowedEnd(rows, follows);
  const box = useRef<HTMLDivElement>(null);
  const isWide = useIsWide(box, WIDE);
  const showAll = () => {
    setFamilies(NO_FAMILIES);
    setWords("");
  };
  const stay = useStill(list, chosen);
  useEffect(() => {
    const row = list.current?.querySelector<HTMLElement>("[data-row] [aria-pressed='true']");
    if (!list.current || !row) return;
    const room = list.current.clientHeight - parseFloat(getComputedStyle(row).scrollMarginTop);
    row.scrollIntoView({ block: row.offsetHeight > room ? "start" : "nearest" }); // the header must not cover the beginning of the row
  }, [list, chosen]);
  const close = () => {
    const row = list.current?.querySelector<HTMLElement>("[data-row] [aria-pressed='true']");
    row?.focus();
    stay(row);
    onChoose(undefined);
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
  const onKeyDown = (event: ReactKeyboardEvent) => {
    if (event.key !== "Escape" || !chosen) return;
    event.stopPropagation();
    close();
  };
  return (
    <div className="@container flex min-h-0 flex-1 flex-col" onKeyDown={onKeyDown}>
      <Filter
        field={search}
        there={there}
        counts={counts}
        found={looked === "" ? undefined : shown.filter(({ entry }) => !entry.turn).length}
        families={families}
        words={words}
        onFamilies={setFamilies}
        onWords={setWords}
      />
      <div ref={box} className={`flex min-h-0 flex-1 ${isWide ? "" : "flex-col"}`}>
        <div
          ref={list}
          className="@container-size min-h-0 min-w-0 flex-1 overflow-y-auto -outline-offset-2 [--heads:1.75rem]"
          tabIndex={0}
          data-one-agent={agents.size < 2 || undefined}
          role="region"
          aria-label="Events and chunks"
          aria-keyshortcuts="ArrowDown ArrowUp ArrowRight ArrowLeft Home End"
          onKeyDown={moveInList}
          onClickCapture={({ target }: MouseEvent<HTMLElement>) => stay((target as Element).closest("button[data-side]"))}
        >
          <Heads />
          {items.length === 0 && (
            <p className="flex flex-col items-start gap-2 p-4 text-sm text-muted-foreground">
              No event or chunk matches the search and the kinds above.
              <Button size="small" onClick={showAll}>
                Show all
              </Button>
            </p>
          )}
          <Marks value={marks}>
            <Searched value={looked}>
              {sections.map((section) => (
                <SectionView key={section.key} section={section} rows={turns.get(section.key)} chosen={chosen} onChoose={onChoose} />
              ))}
            </Searched>
          </Marks>
        </div>
        {isShown && <Details entry={chosen} rows={rows} isBeside={isWide} onChoose={onChoose} onClose={close} />}
      </div>
    </div>
  );
}

/** Width in CSS pixels from which the details are beside the rows. */
const WIDE = 960;

const NO_FAMILIES = new Set<Family>();

/** Return all rows of each turn, by the key of its first row. */
function turnsOf(rows: Row[]): Map<number, Row[]> {
  const turns = new Map<number, Row[]>();
  let turn: Row[] = [];
  for (const row of rows) {
    if (row.entry.turn) turns.set(row.key, (turn = []));
    turn.push(row);
  }
  return turns;
}

function sectionsOf(items: Item[]): Section[] {
  const sections: Section[] = [];
  for (const item of items) {
    const isTurn = !isRun(item) && item.entry.turn !== undefined;
    if (isTurn) sections.push({ key: item.key, turn: item, items: [] });
    else if (sections.length === 0) sections.push({ key: item.key, turn: undefined, items: [item] });
    else sections.at(-1)?.items.push(item);
  }
  return sections;
}

/** Return a function that keeps an element at its place while the chosen entry changes. The height of the rows above may change then. */
function useStill(list: RefObject<HTMLElement | null>, chosen: Entry | undefined) {
  const kept = useRef<{ element: Element; top: number }>(undefined);
  useLayoutEffect(() => {
    const { element, top } = kept.current ?? {};
    kept.current = undefined;
    if (element?.isConnected && top !== undefined) list.current?.scrollBy(0, element.getBoundingClientRect().top - top);
  }, [list, chosen]);
  return (element: Element | null | undefined) => {
    kept.current = element ? { element, top: element.getBoundingClientRect().top } : undefined;
  };
}

/** Return a scrolling box. It stays at its end while the user has scrolled to the end. */
function useFollowedEnd(rows: Row[], follows: boolean) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(follows);
  useLayoutEffect(() => {
    atEnd.current = follows;
  }, [follows]);
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
