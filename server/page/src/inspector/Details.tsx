import { X } from "lucide-react";
import { IconButton } from "../components/ui/icon-button";
import { type Entry, inBytes, inSeconds, type Row } from "./entries";
import { ModelCall } from "./ModelCall";
import { Shown } from "./Shown";
import { useSize } from "./use-size";

type DetailsProps = {
  entry: Entry;
  rows: Row[];
  /** The details are beside the rows, not below them. */
  isBeside: boolean;
  onChoose: (entry: Entry) => void;
  onClose: () => void;
};

const BELOW = { name: "inspector-details", label: "Height of the chosen entry", side: "top", otherwise: 42, least: 15, most: 75 } as const;
const BESIDE = { name: "inspector-details-width", label: "Width of the chosen entry", side: "start", otherwise: 42, least: 25, most: 60 } as const;

/** The chosen entry. The user can drag the edge between it and the rows. The browser stores the size. */
export function Details({ entry, rows, isBeside, onChoose, onClose }: DetailsProps) {
  const [size, handle] = useSize(isBeside ? BESIDE : BELOW);
  const title = titleOf(entry);
  return (
    <section
      className={`relative flex min-w-0 shrink-0 flex-col ${isBeside ? "border-s pt-1" : "border-t"}`}
      style={{ [isBeside ? "width" : "height"]: `${size}%` }}
      aria-label="The chosen entry"
    >
      {handle}
      <header className="flex items-center gap-2 ps-4 pe-1.5 text-xs text-muted-foreground">
        <span className="min-w-0 flex-1 truncate">{title}</span>
        <IconButton label="Close" keys="Esc" size="small icon" onClick={onClose}>
          <X />
        </IconButton>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto px-4 pb-3 -outline-offset-2" key={`${entry.number} ${title}`}>
        <Content entry={entry} rows={rows} onChoose={onChoose} />
      </div>
    </section>
  );
}

function Content({ entry, rows, onChoose }: Pick<DetailsProps, "entry" | "rows" | "onChoose">) {
  const { prompt, failure, event, chunk, turn, text } = entry;
  if (prompt) return <ModelCall key={prompt.call} prompt={prompt} rows={rows} onChoose={onChoose} />;
  if (failure) {
    return (
      <div className="flex flex-col gap-2">
        <p className="text-sm wrap-anywhere whitespace-pre-wrap text-destructive">{failure.message}</p>
        <pre className="font-mono text-xs whitespace-pre-wrap wrap-anywhere" data-raised>
          {raisedAt(failure.traceback)}
        </pre>
        <Shown value={failure.traceback} label="Traceback" />
      </div>
    );
  }
  return <Shown value={event ?? chunk ?? turn ?? text} label="JSON of the entry" />;
}

/** Return the innermost frame of a traceback, which is its last frame. */
function raisedAt(traceback: string): string {
  return traceback.match(/^ +File ".*(\n +\S.*)?/gm)?.at(-1)?.replace(/^ {2}/gm, "") ?? "";
}

function titleOf({ event, chunk, turn, prompt, failure, at, bytes }: Entry): string {
  const name = prompt ? `Model call ${prompt.call}` : failure ? "The run failed" : (chunk?.type ?? (event ? `Event of ${event.author ?? "nobody"}` : turn ? "Turn" : "Not JSON"));
  return [name, inSeconds(at), bytes === undefined ? "" : inBytes(bytes)].filter(Boolean).join(" · ");
}
