import { generateId } from "ai";
import { Plus, X } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Button } from "../ui/button";
import { IconButton } from "../ui/icon-button";
import { initial, kindOf, resolved, type Schema } from "./schema";
import { SchemaField, type SchemaFieldProps } from "./SchemaField";

type ListFieldProps = SchemaFieldProps & { note: string | undefined };

/** A list: a row for each item, with buttons that add and remove rows. */
export function ListField({ label, schema, defs, required, value, onChange, note }: ListFieldProps) {
  const items: unknown[] = Array.isArray(value) ? value : [];
  const box = useRef<HTMLFieldSetElement>(null);
  const focus = useRef<"added" | "removed">(undefined);
  const [keys, setKeys] = useState(() => items.map(() => generateId()));
  const of = resolved(schema.items ?? {}, defs);
  const single = kindOf(of) !== "object";
  const change = (changed: unknown[], changedKeys: string[], then: "added" | "removed") => {
    focus.current = then;
    setKeys(changedKeys);
    onChange(changed);
  };
  const add = () => change([...items, initial(of, defs)], [...keys, generateId()], "added");
  const without = <Item,>(all: Item[], index: number) => all.filter((_, at) => at !== index);
  const remove = (index: number) => change(without(items, index), without(keys, index), "removed");
  useEffect(() => {
    const rows = box.current?.querySelectorAll<HTMLElement>(":scope > [data-row]");
    const added = rows?.item(rows.length - 1)?.querySelector<HTMLElement>("input, select, textarea");
    const next = focus.current === "added" ? added : box.current?.querySelector<HTMLElement>(":scope > [data-add]");
    if (focus.current !== undefined) next?.focus();
    focus.current = undefined;
  }, [keys]);
  return (
    <fieldset ref={box} aria-describedby={note} className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1 text-muted-foreground">{label}</legend>
      {items.map((item, index) => (
        <Row
          key={keys[index]}
          single={single}
          name={`${label} ${index + 1}`}
          onRemove={items.length > (schema.minItems ?? 0) ? () => remove(index) : undefined}
        >
          <SchemaField
            label={`${label} ${index + 1}`}
            schema={unnamed(of)}
            defs={defs}
            required={required || !single || (item ?? undefined) === undefined} // the user must fill or remove an empty row
            value={item}
            onChange={(changed) => onChange(items.map((each, at) => (at === index ? changed : each)))}
          />
        </Row>
      ))}
      {items.length < (schema.maxItems ?? Infinity) && (
        <Button data-add size="small" className="self-start" aria-label={`Add to ${label}`} onClick={add}>
          <Plus className="size-4" aria-hidden />
          Add
        </Button>
      )}
    </fieldset>
  );
}

type RowProps = { single: boolean; name: string; onRemove: (() => void) | undefined; children: ReactNode };

/** An item with its Remove button. Its label is hidden, because the list has a label. */
function Row({ single, name, onRemove, children }: RowProps) {
  const look = single ? "[&_label>span:first-child]:sr-only" : "rounded-lg border bg-card p-2.5 [&_fieldset]:mt-0! [&>div>fieldset>legend]:sr-only";
  return (
    <div data-row className={`flex min-w-0 items-start gap-1 *:first:flex-1 ${look}`}>
      {children}
      {onRemove && (
        <IconButton label={`Remove ${name}`} onClick={onRemove}>
          <X aria-hidden />
        </IconButton>
      )}
    </div>
  );
}

/** The accessible name of an item, from the list's label. */
function unnamed({ title: _, ...schema }: Schema): Schema {
  return schema;
}
