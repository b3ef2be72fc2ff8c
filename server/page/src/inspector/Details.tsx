import { X } from "lucide-react";
import { IconButton } from "../components/ui/icon-button";
import { type Entry, inBytes, inSeconds, type Row } from "./entries";
import { ModelCall } from "./ModelCall";
import { Shown } from "./Shown";
import { useSize } from "./use-size";

type DetailsProps = { entry: Entry; rows: Row[]; onChoose: (entry: Entry) => void; onClose: () => void };

/** The chosen entry, in a box whose upper edge can be dragged. */
export function Details({ entry, rows, onChoose, onClose }: DetailsProps) {
  const [height, handle] = useSize({ name: "inspector-details", label: "Height of the chosen entry", side: "top", otherwise: 50, least: 15, most: 85 });
  const title = titleOf(entry);
  return (
    <section className="relative flex shrink-0 flex-col border-t" style={{ height: `${height}%` }} aria-label="The chosen entry">
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

function Content({ entry, rows, onChoose }: Omit<DetailsProps, "onClose">) {
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

/** The innermost frame of a traceback, which is its last. */
function raisedAt(traceback: string): string {
  return traceback.match(/^ +File ".*(\n +\S.*)?/gm)?.at(-1)?.replace(/^ {2}/gm, "") ?? "";
}

function titleOf({ event, chunk, turn, prompt, failure, at, bytes }: Entry): string {
  const name = prompt ? `Model call ${prompt.call}` : failure ? "The run failed" : (chunk?.type ?? (event ? `Event of ${event.author ?? "nobody"}` : turn ? "Turn" : "Not JSON"));
  return [name, inSeconds(at), bytes === undefined ? "" : inBytes(bytes)].filter(Boolean).join(" · ");
}
