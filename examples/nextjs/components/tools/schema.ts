/** The JSON schemas of forms: those of a question's answer, and those that a payload has by its own values. */

export type Values = Record<string, unknown>;

export type Schema = {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  $ref?: string;
  $defs?: Record<string, Schema>;
};

export function isObject(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a schema names elsewhere in itself, and what `null` stands beside, with its own words on top. */
export function resolved(schema: Schema, defs: Record<string, Schema>, depth = 0): Schema {
  const { $ref, anyOf, ...own } = schema;
  const named = $ref === undefined ? undefined : defs[$ref.replace("#/$defs/", "")];
  const some = anyOf?.filter(({ type }) => type !== "null");
  const other = named ?? (some?.length === 1 ? some[0] : undefined);
  if (other !== undefined && depth < 8) return resolved({ ...other, ...own }, defs, depth + 1);
  if (!Array.isArray(schema.type)) return schema;
  const types = schema.type.filter((type) => type !== "null");
  return types.length === 1 ? { ...schema, type: types[0]! } : schema;
}

/** Which control a value of this schema has; `json` for what has none of its own. */
export function kindOf(schema: Schema): "object" | "choice" | "choices" | "boolean" | "number" | "text" | "json" {
  if (schema.enum !== undefined) return "choice";
  switch (schema.type) {
    case "object":
      return schema.properties === undefined ? "json" : "object";
    case "array":
      return schema.items?.enum === undefined ? "json" : "choices";
    case "boolean":
      return "boolean";
    case "number":
    case "integer":
      return "number";
    case "string":
      return "text";
    default:
      return "json";
  }
}

/** What a form begins with: the defaults, and `false` for what is only ticked. */
export function initial(schema: Schema, defs: Record<string, Schema>): unknown {
  const known = resolved(schema, defs);
  if (known.default !== undefined) return known.default ?? undefined;
  if (known.const !== undefined) return known.const;
  switch (kindOf(known)) {
    case "object":
      return Object.fromEntries(
        Object.entries(known.properties ?? {}).map(([name, property]) => [name, initial(property, defs)]),
      );
    case "boolean":
      return false;
    case "choices":
      return [];
    default:
      return undefined;
  }
}

/** A schema for values like this one; `undefined` for what is no flat object and no single value. */
export function schemaOf(value: unknown): Schema | undefined {
  if (!isObject(value)) return scalarSchema(value);
  const properties = Object.entries(value).map(([name, each]) => [name, scalarSchema(each)] as const);
  if (properties.some(([, schema]) => schema === undefined)) return undefined;
  return { type: "object", properties: Object.fromEntries(properties) as Record<string, Schema> };
}

function scalarSchema(value: unknown): Schema | undefined {
  if (value === null) return { type: "string" };
  return ["string", "number", "boolean"].includes(typeof value) ? { type: typeof value, default: value } : undefined;
}

/** What is typed, as JSON if it is JSON, else as text. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
