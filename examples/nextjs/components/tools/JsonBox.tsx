import { Field, Textarea } from "../ui/field";

type JsonBoxProps = {
  label: string;
  required: boolean;
  rows?: number;
  note?: string | undefined;
  value: unknown;
  onChange: (value: unknown) => void;
};

/** A field for JSON. Invalid JSON prevents the form from being sent. */
export function JsonBox({ label, required, rows = 6, note, value, onChange }: JsonBoxProps) {
  const read = (box: HTMLTextAreaElement) => {
    try {
      box.setCustomValidity("");
      onChange(box.value.trim() === "" ? undefined : JSON.parse(box.value));
    } catch (error) {
      box.setCustomValidity(error instanceof Error ? error.message : "This is no JSON.");
    }
  };
  return (
    <Field label={label}>
      <Textarea
        rows={rows}
        dir="ltr"
        spellCheck={false}
        required={required}
        placeholder="JSON"
        aria-describedby={note}
        className="font-mono text-xs"
        defaultValue={value === undefined ? "" : JSON.stringify(value, null, 2)}
        onChange={({ target }) => read(target)}
      />
    </Field>
  );
}
