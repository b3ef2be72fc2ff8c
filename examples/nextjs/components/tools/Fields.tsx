import { Json } from "./Json";
import { isObject } from "./schema";

/** The arguments of a call that needs approval: each name with its value, and JSON for all that is not an object. */
export function Fields({ value: input }: { value: unknown }) {
  if (!isObject(input)) return input === undefined ? null : <Json value={input} label="input" />;
  const values = Object.entries(input);
  if (values.length === 0) return null;
  return (
    <dl tabIndex={0} className="grid max-h-80 grid-cols-[auto_1fr] overflow-auto gap-x-4 gap-y-1.5 rounded-lg border bg-card px-3 py-2.5">
      {values.map(([name, value]) => (
        <div key={name} className="contents">
          <dt dir="auto" className="text-muted-foreground wrap-anywhere">
            {name.replaceAll("_", " ")}
          </dt>
          <dd dir="auto" className="min-w-0 font-medium whitespace-pre-wrap tabular-nums wrap-anywhere">
            {typeof value === "string" && value !== "" ? value : JSON.stringify(value)}
          </dd>
        </div>
      ))}
    </dl>
  );
}
