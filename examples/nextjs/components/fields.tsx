import type { Values } from "@/lib/chat-message";

export const INPUT = "h-9 rounded-lg border bg-background px-3 text-base outline-none focus-visible:border-ring md:text-sm";

type FieldsProps = { asked: Values; values: Values; onChange: (values: Values) => void; secret?: boolean };

/** A field for each value, of the kind that stands there. */
export function Fields({ asked, values, onChange, secret }: FieldsProps) {
  return (
    <div className="grid gap-2 sm:grid-cols-2">
      {Object.entries(asked).map(([name, value]) => (
        <label key={name} className="flex flex-col gap-1">
          <span className="text-xs text-muted-foreground">{name.replaceAll("_", " ")}</span>
          {typeof value === "boolean" ? (
            <input
              type="checkbox"
              checked={values[name] === true}
              onChange={(event) => onChange({ ...values, [name]: event.target.checked })}
              className="size-5 accent-primary"
            />
          ) : (
            <input
              type={secret ? "password" : typeof value === "number" ? "number" : "text"}
              autoComplete="off"
              defaultValue={typeof value === "string" || typeof value === "number" ? value : value == null ? "" : JSON.stringify(value)}
              onChange={(event) => onChange({ ...values, [name]: typed(event.target.value, value) })}
              className={INPUT}
            />
          )}
        </label>
      ))}
    </div>
  );
}

/** What was typed, of the kind that was asked for: a text, or JSON. */
function typed(text: string, asked: unknown): unknown {
  return typeof asked === "string" || asked == null ? text : parsed(text);
}

/** The value, if this is JSON, or the text as it is. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
