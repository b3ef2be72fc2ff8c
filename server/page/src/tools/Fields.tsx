export type Values = Record<string, unknown>;

type FieldsProps = { asked: Values; now: Values; onChange: (values: Values) => void; secret?: (name: string) => boolean };

/** A field for each value, of the kind that stands there. */
export function Fields({ asked, now, onChange, secret }: FieldsProps) {
  return (
    <div className="fields">
      {Object.entries(asked).map(([name, value]) => (
        <Field
          key={name}
          name={name}
          asked={value}
          secret={secret?.(name) ?? false}
          onChange={(given) => onChange({ ...now, [name]: given })}
        />
      ))}
    </div>
  );
}

type FieldProps = { name: string; asked: unknown; secret: boolean; onChange: (value: unknown) => void };

function Field({ name, asked, secret, onChange }: FieldProps) {
  return (
    <label className="field">
      <span>{name.replaceAll("_", " ")}</span>
      {typeof asked === "boolean" ? (
        <input type="checkbox" defaultChecked={asked} onChange={(event) => onChange(event.target.checked)} />
      ) : (
        <input
          type={secret ? "password" : "text"}
          autoComplete="off"
          defaultValue={asText(asked)}
          onChange={(event) => onChange(asValue(event.target.value, asked))}
        />
      )}
    </label>
  );
}

export function isObject(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function asText(value: unknown): string {
  if (value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function asValue(text: string, asked: unknown): unknown {
  if (text === "" && asked === null) return null;
  return typeof asked === "string" || asked === null ? text : parsed(text);
}

/** What is typed, as JSON if it is JSON, else as text. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
