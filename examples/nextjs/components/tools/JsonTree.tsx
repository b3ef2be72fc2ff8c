import { ChevronDown } from "lucide-react";
import { type ReactNode, useState } from "react";

/** Number of lines above which inner values are folded at first. */
const MANY_LINES = 30;

/** Number of entries of one value that are shown at first. */
const MANY_ENTRIES = 100;

/** Number of values in the summary of a folded object, and the maximum characters of each. */
const [PREVIEWED, LONGEST] = [3, 32];

type JsonTreeProps = {
  value: unknown;
  manyLines?: number;
  /** Number of levels of a long value that are open at first. */
  openTo?: number;
};

/** A value as indented JSON with collapsible objects and lists. Fully open, its text is valid JSON. */
export function JsonTree({ value, manyLines = MANY_LINES, openTo = 1 }: JsonTreeProps) {
  const lines = JSON.stringify(value, null, 2).split("\n").length;
  return <Value value={value} indent="" foldedFrom={lines > manyLines ? openTo : Number.POSITIVE_INFINITY} depth={0} />;
}

type ValueProps = { value: unknown; indent: string; depth: number; foldedFrom: number; name?: string };

function Value({ value, indent, depth, foldedFrom, name = "value" }: ValueProps) {
  const [open, setOpen] = useState(depth < foldedFrom);
  const [all, showAll] = useState(false);
  const text = JSON.stringify(value) ?? "null";
  if (typeof value !== "object" || value === null || text.length <= 2) return <Coloured json={text} />;
  const [first, last] = Array.isArray(value) ? "[]" : "{}";
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  const inner = `${indent}  `;
  const count = `${entries.length} ${entries.length === 1 ? "entry" : "entries"}`;
  const shown = all ? entries : entries.slice(0, MANY_ENTRIES);
  return (
    <>
      {depth > 0 && <Fold open={open} label={`${name}, ${count}`} onToggle={() => setOpen(!open)} />}
      {first}
      {open ? (
        <>
          {shown.map(([key, each], index) => (
            <span key={key}>
              {`\n${inner}`}
              {!Array.isArray(value) && <Key name={key} />}
              <Value value={each} indent={inner} depth={depth + 1} foldedFrom={foldedFrom} name={key} />
              {index < entries.length - 1 && ","}
            </span>
          ))}
          {shown.length < entries.length && (
            <Button onClick={() => showAll(true)}>{`\n${inner}… ${entries.length - shown.length} more`}</Button>
          )}
          {`\n${indent}`}
        </>
      ) : (
        <Button before={indent.length + (/^\d+$/.test(name) ? 0 : name.length + 4)} onClick={() => setOpen(true)}>{` ${previewOf(value) || count} `}</Button>
      )}
      {last}
    </>
  );
}

/** Summary of an object: its first strings and numbers, without ids. */
function previewOf(value: object): string {
  if (Array.isArray(value)) return "";
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  const plain = entries.filter(([key, each]) => (typeof each !== "object" || each === null) && !/id$/i.test(key)).slice(0, PREVIEWED);
  const texts = plain.map(([key, each]) => `${key}: ${shortened(JSON.stringify(each))}`);
  if (texts.length > 0 && plain.length < entries.length) texts.push("…");
  return texts.join(", ");
}

function shortened(json: string): string {
  return json.length > LONGEST ? `${json.slice(0, LONGEST)}…` : json;
}

type FoldProps = { open: boolean; label: string; onToggle: () => void };

function Fold({ open, label, onToggle }: FoldProps) {
  return (
    <button
      type="button"
      aria-expanded={open}
      aria-label={label}
      onClick={onToggle}
      className="me-0.5 inline-grid size-4 min-h-0! min-w-0! place-items-center rounded align-text-bottom text-muted-foreground hover:text-foreground"
    >
      <ChevronDown className={`size-3 transition-transform ${open ? "" : "-rotate-90"}`} aria-hidden />
    </button>
  );
}

/** `before`: number of characters before the value on its line. */
function Button({ before = 0, onClick, children }: { before?: number; onClick: () => void; children: ReactNode }) {
  return (
    <button
      type="button"
      tabIndex={-1}
      onClick={onClick}
      style={{ maxWidth: `calc(100% - ${before + 8}ch)` }}
      className="inline-block min-h-0! min-w-0! overflow-hidden align-bottom text-ellipsis whitespace-pre text-muted-foreground hover:text-foreground"
    >
      {children}
    </button>
  );
}

function Key({ name }: { name: string }) {
  return (
    <>
      <span className="text-(--code-attr)">{JSON.stringify(name)}</span>
      {": "}
    </>
  );
}

const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|true|false|null/gi;

/** Keys, strings and other values in the colors of highlighted code. */
export function Coloured({ json }: { json: string }) {
  const pieces: ReactNode[] = [];
  let end = 0;
  for (const match of json.matchAll(TOKENS)) {
    const [token, text, colon = ""] = match;
    pieces.push(json.slice(end, match.index));
    const colour = text === undefined ? "text-(--code-literal)" : colon ? "text-(--code-attr)" : "text-(--code-string)";
    pieces.push(
      <span key={match.index} className={colour}>
        {text ?? token}
      </span>,
      colon,
    );
    end = match.index + token.length;
  }
  return [...pieces, json.slice(end)];
}
