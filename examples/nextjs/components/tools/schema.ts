/** JSON schemas of forms: the schema of an answer, or one inferred from the values of a payload. */

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

/** Resolve `$ref`, and the only type beside `null` in `anyOf`. The schema's own keywords take precedence. */
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

type Kind = "object" | "list" | "choice" | "choices" | "boolean" | "number" | "text" | "json";

/** The kind of control for a schema. `json` if no other control fits. */
export function kindOf(schema: Schema): Kind {
  if (schema.enum !== undefined) return "choice";
  switch (schema.type) {
    case "object":
      return schema.properties === undefined ? "json" : "object";
    case "array":
      if (schema.items === undefined) return "json";
      return schema.items.enum === undefined ? "list" : "choices";
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

/** Maximum nesting of objects and lists in a form. Deeper values are JSON. */
const DEEPEST = 4;
/** Maximum number of rows of a new list. */
const FIRST_ROWS = 5;

/** Initial values of a form: the defaults, `false` for checkboxes, and the minimum rows of lists. */
export function initial(schema: Schema, defs: Record<string, Schema>, depth = 0): unknown {
  const known = resolved(schema, defs);
  if (depth > DEEPEST) return undefined;
  if (known.default !== undefined) return known.default ?? undefined;
  if (known.const !== undefined) return known.const;
  switch (kindOf(known)) {
    case "object":
      return Object.fromEntries(
        Object.entries(known.properties ?? {}).map(([name, property]) => [name, initial(property, defs, depth + 1)]),
      );
    case "boolean":
      return false;
    case "choices":
      return [];
    case "list":
      return Array.from({ length: Math.min(known.minItems ?? 0, FIRST_ROWS) }, () => initial(known.items ?? {}, defs, depth + 1));
    default:
      return undefined;
  }
}

/** Infer a schema from a value. An empty schema becomes a JSON field. */
export function schemaOf(value: unknown, depth = 0): Schema {
  if (value === null) return { type: "string" };
  if (typeof value !== "object") return { type: typeof value };
  if (depth === DEEPEST) return {};
  if (isObject(value)) {
    const properties = Object.entries(value).map(([name, each]) => [name, schemaOf(each, depth + 1)] as const);
    return properties.length === 0 ? {} : { type: "object", properties: Object.fromEntries(properties) };
  }
  const items = commonSchema((value as unknown[]).map((each) => schemaOf(each, depth + 1)));
  return items === undefined ? {} : { type: "array", items };
}

/** The common schema of these items. `undefined` if they differ or there are none. */
function commonSchema(schemas: Schema[]): Schema | undefined {
  const [first, ...others] = schemas;
  if (first?.type === undefined || others.some(({ type }) => type !== first.type)) return undefined;
  if (first.type === "array") {
    const items = commonSchema(schemas.map((each) => each.items ?? {}));
    return items && { type: "array", items };
  }
  if (first.type !== "object") return first;
  const names = [...new Set(schemas.flatMap(({ properties }) => Object.keys(properties ?? {})))];
  const properties = names.map((name) => {
    const found = schemas.flatMap(({ properties: some }) => some?.[name] ?? []);
    return [name, commonSchema(found) ?? {}] as const;
  });
  return { type: "object", properties: Object.fromEntries(properties) };
}

/** Parse typed text as JSON. Invalid JSON stays text. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
