import { useEffect, useRef } from "react";
import { Caption, Json, printed } from "./Json";
import { Coloured, JsonTree } from "./JsonTree";
import { isTable, Table } from "./Output";
import { readableName } from "./readable-name";
import { isObject } from "./schema";

type FieldsProps = { value: unknown; label?: string; live?: boolean };

/** The values of a call with a label. */
export function LabelledFields({ value, label = "input", live }: FieldsProps) {
  if (!isObject(value)) return <Json value={value} label={label} live={live ?? false} />;
  return (
    <figure data-json={label} className="relative min-w-0">
      <Caption label={label} text={printed(value)} />
      <Fields value={value} label={label} live={live ?? false} />
    </figure>
  );
}

/**
 * The values of a call or of an answer: a row for each name, and JSON for values that are not objects. While they are
 * streaming, their end stays in view.
 */
export function Fields({ value: input, label = "input", live = false }: FieldsProps) {
  const list = useRef<HTMLDListElement>(null);
  useEffect(() => {
    if (list.current && live) list.current.scrollTop = list.current.scrollHeight;
  }, [input, live]);
  if (!isObject(input)) return input === undefined ? null : <Json value={input} label={label} />;
  const values = Object.entries(input);
  if (values.length === 0) return null;
  return (
    <dl
      ref={list}
      data-live={live || undefined}
      tabIndex={0}
      aria-label={readableName(label)}
      className="grid max-h-80 data-live:max-h-28 grid-cols-[auto_1fr] overflow-auto gap-x-4 gap-y-1.5 rounded-lg border bg-card px-3 py-2.5"
    >
      {values.map(([name, value]) => (
        <div key={name} className="contents">
          <dt dir="auto" className="text-muted-foreground wrap-anywhere">
            {readableName(name)}
          </dt>
          <dd dir="auto" className="min-w-0 font-medium whitespace-pre-wrap tabular-nums wrap-anywhere">
            {isTable(value) ? <Table rows={value} /> : (inLines(value) ?? <Nested value={value} live={live} />)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A value as text. Flat lists and objects have one line per value. `undefined` for deeper values. */
function inLines(value: unknown): string | undefined {
  if (isSingle(value)) return inWords(value);
  if (Array.isArray(value) && value.length > 0 && value.every(isSingle)) return value.map(inWords).join("\n");
  if (isObject(value) && Object.values(value).every(isSingle)) {
    const lines = Object.entries(value).map(([name, each]) => `${readableName(name)}: ${inWords(each)}`);
    if (lines.length > 0) return lines.join("\n");
  }
  return undefined;
}

/** A nested value as JSON, collapsed if it is long. */
function Nested({ value, live }: { value: unknown; live: boolean }) {
  const text = printed(value);
  return (
    <span dir="ltr" className="block font-mono text-xs leading-relaxed font-normal">
      {live || !text.includes("\n") ? <Coloured json={text} /> : <JsonTree value={value} />}
    </span>
  );
}

function isSingle(value: unknown): boolean {
  return typeof value !== "object" || value === null;
}

function inWords(value: unknown): string {
  if (typeof value === "boolean") return value ? "Yes" : "No";
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}
