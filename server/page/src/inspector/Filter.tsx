import { Search } from "lucide-react";
import type { RefObject } from "react";
import { Input } from "../components/ui/field";
import { COLOURS, FAMILIES, type Family } from "./runs";

type FilterProps = {
  field: RefObject<HTMLInputElement | null>;
  /** Number of rows that contain the words. `undefined` without words. */
  found: number | undefined;
  /** Number of rows of each kind: all rows, and the rows that contain the words. */
  there: Map<Family, number>;
  counts: Map<Family, number>;
  families: Set<Family>;
  words: string;
  onFamilies: (families: Set<Family>) => void;
  onWords: (words: string) => void;
};

/** Search field and buttons that select rows by words and by kind. */
export function Filter({ field, found, there, counts, families, words, onFamilies, onWords }: FilterProps) {
  const toggle = (family: Family) => onFamilies(toggled(families, family));
  const offered = (Object.keys(FAMILIES) as (keyof typeof FAMILIES)[]).filter((family) => there.has(family));
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b px-3 py-2" role="search" aria-label="Events">
      <label className="relative min-w-48 flex-1">
        <Search className="pointer-events-none absolute inset-y-0 start-2 my-auto size-4 text-muted-foreground" aria-hidden />
        <Input
          ref={field}
          type="search"
          aria-label="Search events and chunks"
          placeholder="Search"
          aria-keyshortcuts="/"
          className="h-8 w-full ps-8 pe-16 [&::-webkit-search-cancel-button]:hidden"
          value={words}
          onChange={({ target }) => onWords(target.value)}
          onKeyDown={({ key }) => key === "Escape" && onWords("")}
        />
        <span role="status" className="pointer-events-none absolute inset-y-0 end-2.5 my-auto h-fit text-xs text-muted-foreground tabular-nums">
          {found === undefined ? <kbd className="rounded border px-1.5 font-mono pointer-coarse:hidden">/</kbd> : `${found} found`}
        </span>
      </label>
      <div className="flex flex-wrap gap-1.5 py-0.5" data-families>
        {offered.map((family) => (
          <button
            key={family}
            type="button"
            aria-pressed={families.has(family)}
            onClick={() => toggle(family)}
            className="flex h-7 shrink-0 items-center gap-1.5 rounded-full border px-2.5 text-xs hover:bg-accent aria-pressed:border-primary aria-pressed:bg-primary/10"
          >
            <span className={`size-2 rounded-full ${COLOURS[family]}`} aria-hidden />
            {FAMILIES[family]} <span className="text-muted-foreground tabular-nums">{counts.get(family) ?? 0}</span>
          </button>
        ))}
      </div>
    </div>
  );
}

function toggled(families: Set<Family>, family: Family): Set<Family> {
  const changed = new Set(families);
  if (!changed.delete(family)) changed.add(family);
  return changed;
}
