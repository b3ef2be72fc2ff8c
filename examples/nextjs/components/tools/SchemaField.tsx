import { useId } from "react";
import { Checkbox, Field, Input, Select, useFault } from "../ui/field";
import { JsonBox } from "./JsonBox";
import { ListField } from "./ListField";
import { readableName } from "./readable-name";
import { isObject, kindOf, resolved, type Schema } from "./schema";

export type SchemaFieldProps = {
  label: string;
  schema: Schema;
  defs: Record<string, Schema>;
  required: boolean;
  value: unknown;
  /** `undefined` if the user has entered nothing. */
  onChange: (value: unknown) => void;
};

/** The control for a value of this schema. An object is a group with a control for each property. */
export function SchemaField({ schema, defs, label, ...rest }: SchemaFieldProps) {
  const known = resolved(schema, defs);
  const id = useId();
  const props = { ...rest, schema: known, defs, label: known.title ?? label, note: known.description && id };
  return (
    <div className={`flex min-w-0 flex-col gap-1 ${["object", "list"].includes(kindOf(known)) ? "col-span-full" : ""}`}>
      <Control {...props} />
      {known.description && (
        <p id={id} dir="auto" className="text-xs text-muted-foreground wrap-anywhere">
          {known.description}
        </p>
      )}
    </div>
  );
}

type ControlProps = SchemaFieldProps & { note: string | undefined };

function Control(props: ControlProps) {
  switch (kindOf(props.schema)) {
    case "object":
      return <Properties {...props} />;
    case "choice":
      return <Choice {...props} />;
    case "choices":
      return <Choices {...props} />;
    case "list":
      return <ListField {...props} />;
    case "boolean":
      return <Tick {...props} />;
    case "number":
      return <NumberBox {...props} />;
    case "text":
      return <TextBox {...props} />;
    case "json":
      return <JsonBox {...props} rows={3} />;
  }
}

function Properties({ label, schema, defs, required, value, onChange, note }: ControlProps) {
  const values = isObject(value) ? value : {};
  const begun = required || Object.values(values).some(isGiven);
  return (
    <fieldset aria-describedby={note} className="grid min-w-0 gap-3 sm:grid-cols-2 in-[fieldset]:mt-3 in-data-row:grid-cols-2 sm:in-data-row:grid-cols-3">
      <legend className="mb-2 font-medium empty:hidden">{label}</legend>
      {Object.entries(schema.properties ?? {}).map(([name, property]) => (
        <SchemaField
          key={name}
          label={readableName(name)}
          schema={property}
          defs={defs}
          required={begun && (schema.required?.includes(name) ?? false)}
          value={values[name]}
          onChange={(given) => onChange({ ...values, [name]: given })}
        />
      ))}
    </fieldset>
  );
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
}

function Choice({ label, schema, required, value, onChange, note }: ControlProps) {
  const choices = schema.enum ?? [];
  const chosen = choices.indexOf(value);
  return (
    <Field label={label}>
      <Select
        required={required}
        aria-describedby={note}
        value={chosen < 0 ? "" : chosen}
        onChange={({ target }) => onChange(target.value === "" ? undefined : choices[Number(target.value)])}
      >
        <option value="" disabled={required}>
          {required ? "Choose…" : "None"}
        </option>
        {choices.map((choice, index) => (
          <option key={index} value={index}>
            {String(choice)}
          </option>
        ))}
      </Select>
    </Field>
  );
}

function Choices({ label, schema, required, value, onChange, note }: ControlProps) {
  const chosen = Array.isArray(value) ? value : [];
  const least = Math.max(schema.minItems ?? 0, 0);
  const lacking = (required || chosen.length > 0) && chosen.length < least;
  const missing = lacking ? `Choose at least ${least}.` : "";
  const all = schema.items?.enum ?? [];
  const [fault, watch] = useFault();
  return (
    <fieldset aria-describedby={note} className="min-w-0" {...watch}>
      <legend className="mb-1 text-muted-foreground">
        {label}
        {required && least > 0 && <span className="text-destructive"> *</span>}
      </legend>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 sm:min-h-9">
        {all.map((choice, index) => (
          <label key={index} className="flex items-center gap-2">
            <Checkbox
              checked={chosen.includes(choice)}
              disabled={!chosen.includes(choice) && chosen.length >= (schema.maxItems ?? all.length)}
              ref={(box) => box?.setCustomValidity(index === 0 ? missing : "")}
              onChange={({ target }) =>
                onChange(all.filter((each) => (each === choice ? target.checked : chosen.includes(each))))
              }
            />
            {String(choice)}
          </label>
        ))}
      </div>
      {fault}
    </fieldset>
  );
}

function Tick({ label, value, onChange, note }: ControlProps) {
  return (
    <label className="flex items-center gap-2 sm:mt-6 sm:min-h-9">
      <Checkbox
        aria-describedby={note}
        checked={value === true}
        onChange={({ target }) => onChange(target.checked)}
      />
      {label}
    </label>
  );
}

function NumberBox({ label, schema, required, value, onChange, note }: ControlProps) {
  return (
    <Field label={label}>
      <Input
        type="number"
        step={schema.type === "integer" ? 1 : "any"}
        min={schema.minimum}
        max={schema.maximum}
        required={required}
        aria-describedby={note}
        defaultValue={typeof value === "number" ? value : ""}
        onChange={({ target }) => onChange(Number.isNaN(target.valueAsNumber) ? undefined : target.valueAsNumber)}
      />
    </Field>
  );
}

const TYPES: Record<string, string> = { date: "date", email: "email", time: "time", uri: "url" };

function TextBox({ label, schema, required, value, onChange, note }: ControlProps) {
  return (
    <Field label={label}>
      <Input
        type={TYPES[schema.format ?? ""] ?? "text"}
        minLength={schema.minLength}
        maxLength={schema.maxLength}
        pattern={schema.pattern}
        required={required}
        autoComplete="off"
        aria-describedby={note}
        defaultValue={typeof value === "string" ? value : ""}
        onChange={({ target }) => onChange(target.value === "" ? undefined : target.value)}
      />
    </Field>
  );
}
