/** The part of JSON Schema that the contract uses; a test holds every schema of it to these keywords. */
export interface JsonSchema {
  type?: string | readonly string[];
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly JsonSchema[];
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  additionalProperties?: boolean | JsonSchema;
  propertyNames?: JsonSchema;
  minProperties?: number;
  maxProperties?: number;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
  /** What `pattern` asks for, in words that finish "must be …". */
  'x-form'?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
}

/**
 * A place in a value: its key, and the place of what holds it. Made into a pointer only for what is reported.
 */
export interface Path {
  readonly above: Path | undefined;
  readonly key: string | number;
}

/** RFC 6901. */
export function renderPointer(path: Path | undefined): string {
  const steps: string[] = [];
  for (let at = path; at !== undefined; at = at.above)
    steps.push(`/${String(at.key).replaceAll('~', '~0').replaceAll('/', '~1')}`);
  return steps.reverse().join('');
}

/** The type names of a schema; none when it takes any type. */
export function listTypes({ type, enum: words, const: only, properties }: JsonSchema): readonly string[] {
  if (type !== undefined) return typeof type === 'string' ? [type] : type;
  if (words !== undefined) return [...new Set(words.map(findTypeName))];
  if (only !== undefined) return [findTypeName(only)];
  return properties === undefined ? [] : ['object'];
}

export function findTypeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

export function isOfType(schema: JsonSchema, value: unknown): boolean {
  const types = listTypes(schema);
  if (types.length === 0) return true;
  // JSON text such as 1e999 is read as Infinity.
  const name =
    value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY
      ? 'infinity'
      : findTypeName(value);
  return types.some((type) => type === name || (type === 'integer' && Number.isInteger(value)));
}

/** A schema as its alternatives: those of a union, also of a union in a union, or itself. */
export function listAlternatives(schema: JsonSchema): readonly JsonSchema[] {
  let known = knownAlternatives.get(schema);
  if (known === undefined) {
    known = schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(listAlternatives);
    knownAlternatives.set(schema, known);
  }
  return known;
}

const knownAlternatives = new WeakMap<JsonSchema, readonly JsonSchema[]>();

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
