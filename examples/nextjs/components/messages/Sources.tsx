import type { SourceDocumentUIPart, SourceUrlUIPart } from "ai";
import type { ChatPart } from "../chat/message-types";
import { Elsewhere } from "./Elsewhere";

export type Source = SourceUrlUIPart | SourceDocumentUIPart;

export function isSource(part: ChatPart): part is Source {
  return part.type === "source-url" || part.type === "source-document";
}

/** The sources of a reply without duplicates. Numbers start at 1. */
export function numberedSources(parts: ChatPart[]): Source[] {
  const once = new Map<string, Source>();
  for (const source of parts.filter(isSource)) {
    const key = source.type === "source-url" ? source.url : source.sourceId;
    if (!once.has(key)) once.set(key, source);
  }
  return [...once.values()];
}

/** Google requires apps to name Google Maps as the source. */
export function isMap(source: Source): boolean {
  return source.providerMetadata?.["adk"]?.["grounding"] === "maps";
}

/** The numbered sources of a reply. `first`: the number of the first source. */
export function Sources({ sources: once, first }: { sources: Source[]; first: number }) {
  if (once.length === 0) return null;
  return (
    <nav aria-label="Sources" className="text-sm">
      <p className="mb-1.5 text-xs font-medium text-muted-foreground" aria-hidden>
        Sources
      </p>
      <ol className="flex flex-wrap gap-2">
        {once.map((source, index) => (
          <li key={source.sourceId} value={first + index} className="flex max-w-full items-center gap-2 rounded-lg border bg-card py-1 ps-1.5 pe-3 pointer-coarse:py-0">
            <span className="grid size-5 shrink-0 place-items-center rounded bg-accent text-xs tabular-nums">{first + index}</span>
            <Cited source={source} />
          </li>
        ))}
      </ol>
    </nav>
  );
}

function Cited({ source }: { source: Source }) {
  if (source.type === "source-document") return <span className="truncate">{source.title || source.filename}</span>;
  return (
    <>
      <Elsewhere url={source.url} className="truncate underline-offset-2 hover:underline">
        {source.title ?? source.url}
      </Elsewhere>
      {isMap(source) ? (
        <span className="shrink-0 text-xs text-muted-foreground" translate="no">
          Google Maps
        </span>
      ) : (
        source.title &&
        URL.canParse(source.url) && (
          <span className="truncate text-xs text-muted-foreground max-sm:hidden">{new URL(source.url).hostname}</span>
        )
      )}
    </>
  );
}
