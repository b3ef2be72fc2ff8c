import { Json } from "./Json";
import { isTable, Table } from "./Output";
import { readableName } from "./readable-name";
import { isObject } from "./schema";

/** The values of a call or of an answer: each name with its value, and JSON for all that is not an object. */
export function Fields({ value: input, label = "input" }: { value: unknown; label?: string }) {
  if (!isObject(input)) return input === undefined ? null : <Json value={input} label={label} />;
  const values = Object.entries(input);
  if (values.length === 0) return null;
  return (
    <dl
      tabIndex={0}
      aria-label={readableName(label)}
      className="grid max-h-80 grid-cols-[auto_1fr] overflow-auto gap-x-4 gap-y-1.5 rounded-lg border bg-card px-3 py-2.5"
    >
      {values.map(([name, value]) => (
        <div key={name} className="contents">
          <dt dir="auto" className="text-muted-foreground wrap-anywhere">
            {readableName(name)}
          </dt>
          <dd dir="auto" className="min-w-0 font-medium whitespace-pre-wrap tabular-nums wrap-anywhere">
            {isTable(value) ? <Table rows={value} /> : shown(value)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A value in words: lists and objects of single values have a line for each. */
function shown(value: unknown): string {
  if (isSingle(value)) return inWords(value);
  if (Array.isArray(value) && value.length > 0 && value.every(isSingle)) return value.map(inWords).join("\n");
  if (isObject(value) && Object.values(value).every(isSingle)) {
    const lines = Object.entries(value).map(([name, each]) => `${readableName(name)}: ${inWords(each)}`);
    if (lines.length > 0) return lines.join("\n");
  }
  return JSON.stringify(value);
}

function isSingle(value: unknown): boolean {
  return typeof value !== "object" || value === null;
}

function inWords(value: unknown): string {
  if (typeof value === "boolean") return value ? "Yes" : "No";
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}
