import { type Entry, inBytes, inSeconds } from "./entries";

/** The bytes of all these entries. */
export function sizeOf(entries: Entry[]): number {
  return entries.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
}

const BOX = "shrink-0 text-muted-foreground @max-lg:order-last @max-lg:flex @max-lg:basis-full @max-lg:gap-2 @max-lg:ps-4 @3xl:flex";

/** The columns of the figures, in a wide panel: those of an event, and that of a chunk. */
const COLUMN = "block text-end whitespace-nowrap tabular-nums @3xl:w-16";

/** When, and how large: below each other, and in a wide panel beside each other, each below its head. */
export function Figures({ entry: { at, bytes }, timed = false }: { entry: Pick<Entry, "at" | "bytes">; timed?: boolean }) {
  return (
    <span dir="ltr" className={BOX}>
      {timed && (
        <span className={COLUMN} data-at={at}>
          {inSeconds(at)}
        </span>
      )}
      <span className={COLUMN}>{bytes !== undefined && inBytes(bytes)}</span>
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
        <span className="flex shrink-0 @max-lg:hidden">
          <span className={COLUMN}>
            Time<span className="@3xl:hidden">, size</span>
          </span>
          <span className={`${COLUMN} hidden @3xl:block`}>Size</span>
        </span>
      </span>
      <span className="flex h-full min-w-0 items-center gap-x-2 border-s px-4 @max-lg:px-3">
        <span className="min-w-0 flex-1 truncate">
          Chunks<span className="@max-lg:hidden"> to the page</span>
        </span>
        <span className={`${COLUMN} @max-lg:hidden`}>Size</span>
      </span>
    </div>
  );
}
