import { type Entry, inBytes, inSeconds } from "./entries";

/** The bytes of all these entries. */
export function sizeOf(entries: Entry[]): number {
  return entries.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
}

/** When, and how large. `beside`: with room for the arrow that runs of fragments have, so that all figures are in a column. */
export function Figures({ entry: { at, bytes }, beside = false }: { entry: Pick<Entry, "at" | "bytes">; beside?: boolean }) {
  return (
    <span
      dir="ltr"
      className={`shrink-0 text-end text-muted-foreground tabular-nums @max-lg:order-last @max-lg:flex @max-lg:basis-full @max-lg:gap-2 @max-lg:ps-4 ${beside ? "@lg:me-6" : ""}`}
    >
      {at !== undefined && <span className="block" data-at={at}>{inSeconds(at)}</span>}
      {bytes !== undefined && <span className="block">{inBytes(bytes)}</span>}
    </span>
  );
}
