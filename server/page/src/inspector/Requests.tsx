import { ChevronDown, Terminal } from "lucide-react";
import { useState } from "react";
import { Button } from "../components/ui/button";
import { askedBy, type Entry, type Row } from "./entries";
import { DOCUMENTED } from "./Rules";
import { Shown } from "./Shown";

/** Address of the chat. The site has no server, so it shows the default address of `adk-ui-stream serve`. */
const ADDRESS = new URL("api/chat", DOCUMENTED === undefined ? document.baseURI : "http://127.0.0.1:8000/");

type RequestsProps = { rows: Row[]; /** Its turn is the selected one. By default that is the newest turn. */ chosen: Entry | undefined };

/** The requests that the server has received, without secrets. The request of the selected turn is open. */
export function Requests({ rows, chosen }: RequestsProps) {
  const turns = rows.filter(({ entry }) => entry.turn);
  const at = rows.findIndex(({ entry, chunks }) => entry === chosen || (chosen !== undefined && chunks.includes(chosen)));
  const selected = rows.slice(0, at + 1).findLast(({ entry }) => entry.turn) ?? turns.at(-1);
  if (turns.length === 0) {
    return <p className="text-sm text-muted-foreground">There is no request yet. Each request of the page appears here as the server received it.</p>;
  }
  return turns.map((turn, index) => {
    const end = turns[index + 1];
    return (
      <Request
        key={turn.key}
        number={index + 1}
        words={askedBy(turn.entry.turn!, rows.slice(rows.indexOf(turn), end && rows.indexOf(end)))}
        body={bodyOf(turn.entry)}
        isSelected={turn === selected}
      />
    );
  });
}

/** Return the body with the keys that the client sent. */
function bodyOf({ turn, one_message }: Entry): object | null {
  const request = turn?.request ?? null;
  if (request === null || !one_message) return request;
  return Object.fromEntries(Object.entries(request).map(([key, value]) => (key === "messages" && Array.isArray(value) ? ["message", value.at(-1)] : [key, value])));
}

type RequestProps = { number: number; words: string; body: object | null; isSelected: boolean };

function Request({ number, words, body, isSelected }: RequestProps) {
  const [asked, ask] = useState<boolean>();
  const open = asked ?? isSelected;
  return (
    <section className="flex flex-col gap-2" aria-label={`Turn ${number}`}>
      <button type="button" aria-expanded={open} onClick={() => ask(!open)} className="flex min-w-0 items-center gap-1.5 rounded-md py-0.5 text-start text-sm hover:bg-accent">
        <ChevronDown className={`size-4 shrink-0 text-muted-foreground ${open ? "" : "-rotate-90"}`} aria-hidden />
        <span className="shrink-0 font-medium">Turn {number}</span>
        <span className="min-w-0 truncate text-muted-foreground" dir="auto">
          {words}
        </span>
      </button>
      {open && (body === null ? <NotKept /> : <Posted body={body} label={`Body of the request of turn ${number}`} />)}
    </section>
  );
}

function NotKept() {
  return <p className="text-sm text-muted-foreground">The body is not available. A recording may omit it, and the Inspector omits bodies above 1 MiB.</p>;
}

/** Method, path and body of a request. */
export function Posted({ body, label }: { body: unknown; label: string }) {
  return (
    <>
      <p className="flex flex-wrap items-center gap-2 font-mono text-xs">
        <span className="font-semibold">POST</span> <span className="min-w-0 flex-1 wrap-anywhere">{ADDRESS.pathname}</span>
        <Button size="small" className="font-sans" onClick={() => void navigator.clipboard?.writeText(asCurl(body))}>
          <Terminal className="size-4" aria-hidden /> Copy as cURL
        </Button>
      </p>
      <Shown value={body} label={label} openTo={3} />
    </>
  );
}

function asCurl(body: unknown): string {
  const data = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl --no-buffer -H 'content-type: application/json' -d '${data}' '${ADDRESS.href}'`;
}
