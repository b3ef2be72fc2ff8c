import { LabelledFields } from "./Fields";
import { Json } from "./Json";
import { readableName } from "./readable-name";
import { isObject, type Values } from "./schema";

/**
 * What a tool has returned: rows for a flat object, a table for a list of them, text as text, all else as JSON. ADK puts
 * what is no object below `result`.
 */
export function Output({ value }: { value: unknown }) {
  const only = isObject(value) && Object.keys(value).length === 1 ? Object.values(value)[0] : value;
  if (isTable(only)) {
    return (
      <figure data-json="output">
        <figcaption className="mb-1 text-xs text-muted-foreground">Output</figcaption>
        <Table rows={only} />
      </figure>
    );
  }
  const isWrapped = isObject(value) && "result" in value && Object.keys(value).length === 1;
  const shown = isWrapped ? only : value;
  if (isFlat(shown) && Object.keys(shown).length > 0) return <LabelledFields value={shown} label="output" />;
  return <Json value={shown} label="output" />;
}

export function isTable(value: unknown): value is Values[] {
  return Array.isArray(value) && value.length > 0 && value.every(isFlat);
}

export function isFlat(value: unknown): value is Values {
  return isObject(value) && Object.values(value).every((each) => typeof each !== "object" || each === null);
}

/** A row for each object, and a column for each name. */
export function Table({ rows }: { rows: Values[] }) {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return (
    <div className="scroller max-h-80 overflow-auto rounded-lg border" tabIndex={0}>
      <table className="w-full text-start wrap-break-word tabular-nums">
        <thead className="bg-muted text-muted-foreground">
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col" className="px-3 py-1.5 text-start font-medium whitespace-nowrap">
                {readableName(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index} className="border-t">
              {columns.map((column) => (
                <td key={column} dir="auto" className="max-w-96 px-3 py-1.5 text-start align-top">
                  {String(row[column] ?? "")}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
