import { X } from "lucide-react";
import { memo, useEffect, useLayoutEffect, useRef, useState } from "react";
import { IconButton } from "../ui/icon-button";
import { askedBy, detailOf, type Entry, inBytes, inSeconds, kindOf, type Row, wordsOf } from "./entries";
import { Shown } from "./Shown";

/** Rows that are drawn, and drawn again, together. */
const BLOCK = 50;

type EventsProps = {
  rows: Row[];
  /** The number of the entry that another tab has sent the reader to. */
  target?: number | undefined;
};

/** What came from the agent, row by row, each beside what was sent because of it. */
export function Events({ rows, target }: EventsProps) {
  const [chosen, setChosen] = useState<Entry>();
  const list = useFollowedEnd(rows);
  useEffect(() => {
    if (target === undefined) return;
    const row = rows.find(({ chunks }) => chunks.some(({ number }) => number === target));
    setChosen(row?.chunks.find(({ number }) => number === target));
    list.current?.querySelector(`[data-row="${row?.key}"]`)?.scrollIntoView({ block: "center" });
    // Only a new target moves the reader, not each row that comes.
  }, [target]);
  useEffect(() => {
    list.current?.querySelector("[aria-pressed='true']")?.scrollIntoView({ block: "nearest" });
  }, [list, chosen]);
  const close = () => {
    list.current?.querySelector<HTMLElement>("[aria-pressed='true']")?.focus();
    setChosen(undefined);
  };
  const blocks = Array.from({ length: Math.ceil(rows.length / BLOCK) }, (_, index) => index * BLOCK);
  return (
    <div className="flex min-h-0 flex-1 flex-col" onKeyDown={(event) => event.key === "Escape" && chosen && (event.stopPropagation(), close())}>
      <div ref={list} className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label="Events and chunks">
        {blocks.map((from) => (
          <Block key={from} rows={rows.slice(from, from + BLOCK)} chosen={chosen} onChoose={setChosen} />
        ))}
      </div>
      {chosen && (
        <section className="flex max-h-[45%] shrink-0 flex-col border-t" aria-label="The chosen entry">
          <header className="flex items-center gap-2 ps-4 pe-1.5 text-xs text-muted-foreground">
            <span className="min-w-0 flex-1 truncate">{titleOf(chosen)}</span>
            <IconButton label="Close" keys="Esc" size="small icon" onClick={close}>
              <X />
            </IconButton>
          </header>
          <div className="min-h-0 overflow-y-auto px-3 pb-3">
            <Shown value={valueOf(chosen)} label="JSON of the entry" />
          </div>
        </section>
      )}
    </div>
  );
}

type BlockProps = { rows: Row[]; chosen: Entry | undefined; onChoose: (entry: Entry) => void };

/** Is drawn again if one of its rows is new, or if the chosen entry is or was in it; laid out only while it is seen. */
const Block = memo(
  function Block({ rows, chosen, onChoose }: BlockProps) {
    return (
      <ol className="[contain-intrinsic-size:auto_1800px] [content-visibility:auto]">
        {rows.map((row) => (
          <EventRow key={row.key} row={row} chosen={chosen} onChoose={onChoose} />
        ))}
      </ol>
    );
  },
  (before, now) =>
    before.rows.length === now.rows.length &&
    before.rows.every((row, index) => row === now.rows[index]) &&
    (before.chosen === now.chosen || (!holds(before.rows, before.chosen) && !holds(now.rows, now.chosen))),
);

function holds(rows: Row[], entry: Entry | undefined): boolean {
  return entry !== undefined && rows.some((row) => row.entry === entry || row.chunks.includes(entry));
}

function EventRow({ row: { key, entry, chunks }, chosen, onChoose }: { row: Row } & Omit<BlockProps, "rows">) {
  if (entry.turn) {
    return (
      <li data-row={key} className="border-b bg-muted">
        <RowButton pressed={entry === chosen} onClick={() => onChoose(entry)}>
          <span className="shrink-0 font-medium">Turn</span>
          <span className="min-w-0 flex-1 truncate text-muted-foreground" dir="auto">
            {askedBy(entry.turn)}
          </span>
        </RowButton>
      </li>
    );
  }
  return (
    <li data-row={key} className="grid grid-cols-2 border-b">
      {entry.event ? (
        <RowButton pressed={entry === chosen} onClick={() => onChoose(entry)}>
          <span className="flex min-w-0 flex-1 flex-col">
            <span className="truncate font-medium">{entry.event.author ?? "nobody"}</span>
            <span className="text-muted-foreground wrap-anywhere">{kindOf(entry.event)}</span>
            <span className="truncate text-muted-foreground italic" dir="auto">
              {wordsOf(entry.event)}
            </span>
          </span>
          <Figures entry={entry} />
        </RowButton>
      ) : (
        <span className="flex min-w-0 gap-2 px-4 py-1.5 text-xs text-muted-foreground">
          <span className="min-w-0 flex-1">{withoutEvent(entry)}</span>
          <Figures entry={entry} />
        </span>
      )}
      <ul className="min-w-0 border-s">
        {chunks.map((chunk, index) => (
          <li key={index}>
            <RowButton pressed={chunk === chosen} onClick={() => onChoose(chunk)}>
              <span className="flex min-w-0 flex-1 flex-wrap gap-x-2">
                <span className="font-mono wrap-anywhere">{chunk.chunk?.type ?? "not JSON"}</span>
                <span className="max-w-full truncate text-muted-foreground italic" dir="auto">
                  {chunk.chunk ? detailOf(chunk.chunk) : chunk.text}
                </span>
              </span>
              <Figures entry={{ bytes: chunk.bytes ?? 0 }} />
            </RowButton>
          </li>
        ))}
      </ul>
    </li>
  );
}

function RowButton({ pressed, ...rest }: { pressed: boolean; onClick: () => void; children: React.ReactNode }) {
  return (
    <button
      type="button"
      aria-pressed={pressed}
      className="flex w-full min-w-0 items-start gap-2 px-4 py-1.5 text-start text-xs -outline-offset-2 hover:bg-accent aria-pressed:bg-accent"
      {...rest}
    />
  );
}

/** When, and how large. */
function Figures({ entry: { at, bytes } }: { entry: Pick<Entry, "at" | "bytes"> }) {
  return (
    <span dir="ltr" className="shrink-0 text-end text-muted-foreground tabular-nums">
      {at !== undefined && <span className="block">{inSeconds(at)}</span>}
      {bytes !== undefined && <span className="block">{inBytes(bytes)}</span>}
    </span>
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
function useFollowedEnd(rows: Row[]) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
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
