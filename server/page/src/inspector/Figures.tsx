import { type Entry, inBytes, inSeconds } from "./entries";

/** Return the total size of the entries, in bytes. */
export function sizeOf(entries: Entry[]): number {
  return entries.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
}

/** Classes of the columns. Figures are right-aligned below their head. A narrow panel has no column for sizes. */
const TIME = "w-13 text-end whitespace-nowrap tabular-nums @max-lg:w-auto";
const EVENT_SIZE = "hidden w-16 text-end whitespace-nowrap tabular-nums @3xl:inline";
const CHUNK_SIZE = "w-16 text-end whitespace-nowrap tabular-nums @max-lg:hidden";

/** The time of an event, and in a wide panel its size. All figures stand on one line. */
export function EventFigures({ at, bytes }: Pick<Entry, "at" | "bytes">) {
  return (
    <span dir="ltr" className="flex shrink-0 text-muted-foreground">
      <span className={TIME} data-at={at}>
        {inSeconds(at)}
      </span>
      <span className={EVENT_SIZE}>{bytes !== undefined && inBytes(bytes)}</span>
    </span>
  );
}

/** The size of a chunk. */
export function ChunkSize({ bytes = 0 }: Pick<Entry, "bytes">) {
  return (
    <span dir="ltr" className={`shrink-0 text-muted-foreground ${CHUNK_SIZE}`}>
      {inBytes(bytes)}
    </span>
  );
}

/** The heads of the columns, which stay at the top of the list. */
export function Heads() {
  return (
    <div className="sticky top-0 z-30 grid h-(--heads) grid-cols-2 items-center border-b bg-background text-xs text-muted-foreground" aria-hidden data-heads>
      <span className="flex h-full min-w-0 items-center gap-x-2 px-4 @max-lg:px-3">
        <span className="min-w-0 flex-1 truncate">
          ADK events<span className="@max-lg:hidden"> from the agent</span>
        </span>
        <span className="flex shrink-0">
          <span className={TIME}>Time</span>
          <span className={EVENT_SIZE}>Size</span>
        </span>
      </span>
      <span className="flex h-full min-w-0 items-center gap-x-2 border-s px-4 @max-lg:px-3">
        <span className="min-w-0 flex-1 truncate">
          Chunks<span className="@max-lg:hidden"> to the page</span>
        </span>
        <span className={CHUNK_SIZE}>Size</span>
      </span>
    </div>
  );
}
