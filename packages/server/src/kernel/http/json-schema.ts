/**
 * The part of JSON Schema that the contract uses. A test checks that every schema uses only these keywords.
 */
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
  /** Describes `pattern` or an object, completing "must be …". */
  'x-form'?: string;
  /** The words that `pattern` takes in any case. */
  'x-words'?: readonly string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
}

/**
 * The location of a value: its key, and the location of its parent. Rendered as a pointer only when reported.
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

/** The type names of a schema; empty if it accepts any type. */
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
  // JSON.parse reads 1e999 as Infinity.
  const name =
    value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY
      ? 'infinity'
      : findTypeName(value);
  return types.some((type) => type === name || (type === 'integer' && Number.isInteger(value)));
}

/** The fixed values of a schema; undefined if it takes others. */
export function listWords(schema: JsonSchema | undefined): readonly unknown[] | undefined {
  if (schema?.const !== undefined) return [schema.const];
  return schema?.enum ?? schema?.['x-words'];
}

/** The alternatives of a schema, including nested unions, or the schema itself. */
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
