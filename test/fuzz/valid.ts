/**
 * Generates values that are valid by a schema, often one that exists in the world under the member's name.
 */
import fc from 'fast-check';
import type { Parameter, Schema } from './document.ts';

/**
 * Existing values by the name of the member or parameter. `{{…}}` is an id of the world, which is inserted
 * when the request is sent. With `foreign.` it is an id of another account.
 */
const known: Record<string, readonly string[]> = {
  projectId: ['{{project}}'],
  environmentName: ['dev', 'prod'],
  againstEnvironmentName: ['dev'],
  againstVersionName: ['v1'],
  sourceEnvironmentName: ['dev', 'prod'],
  targetEnvironmentName: ['dev', 'prod'],
  path: ['main.orch.yaml'],
  variableName: ['city', 'count', 'table'],
  tableName: ['orders', 'main.orders', 'shop."net.sales"'],
  name: ['city', 'count', 'dev', 'reader'],
  connectionName: ['reader', 'lake'],
  connectionNames: ['reader', 'reader,none'],
  secretReferenceName: ['reader-key', 'none'],
  secretName: ['reader-key', 'prod/reader'],
  credentialId: ['{{credential}}'],
  connectorProfileId: ['{{connectorProfile}}'],
  connectorOauthId: ['{{connectorOauth}}'],
  endpointId: ['orders'],
  tokenUrl: ['https://login.example.com/token'],
  authorizationUrl: ['https://login.example.com/authorize'],
  agentId: ['{{agent}}'],
  defaultAgentId: ['{{agent}}'],
  actorId: ['{{actor}}'],
  subjectId: ['{{project}}', 'dev'],
  pipelineName: ['main'],
  pipeline: ['main'],
  dataset: ['sales.orders', 'sales.by_city'],
  column: ['sales.orders.amount', 'sales.by_city.total'],
  versionName: ['v1'],
  sharedPipelineIdPrefix: ['Checks'],
  pipelineExecutionId: ['{{execution}}'],
  testExecutionId: ['{{testExecution}}'],
  taskId: ['{{aiTask}}'],
  toolName: ['write_file', 'run_pipeline'],
  testName: ['tests/main counts'],
  'If-Match': ['*', '"1"', '{{etag}}'],
  role: ['Member', 'SUPER_ADMIN', 'OWNER', 'viewer', 'OPERATOR'],
  authProvider: ['NONE', 'duckdb', 'netsuite', 'aws'],
  platformConnectionType: ['DWH'],
  authType: ['none', 'PASSWORD'],
  'Idempotency-Key': ['one', 'two', 'three'],
};

/** Paths mostly lead to existing resources; elsewhere both cases are useful. */
export function parameterValue(
  { name, schema, in: place, description }: Parameter,
  operationId: string,
): fc.Arbitrary<string> {
  // Case-insensitive words are listed only in the description.
  const listed = description?.match(/^(.*); not case-sensitive$/)?.[1]?.split(', ');
  if (listed !== undefined) return fc.constantFrom(...listed, ...listed.map((word) => word.toUpperCase()));
  const fitting = (text: string) => place !== 'header' || /^(?! )[\x20-\x7e]+(?<! )$/.test(text);
  const random = textOf(schema).filter(fitting);
  const words = (known[name] ?? []).filter((word) => schema.enum === undefined || schema.enum.includes(word));
  // Opaque: only values from responses of the same operation are valid.
  if (name === 'paginationToken') return fc.constant(`{{more.${operationId}}}`);
  if (words.length === 0) return random;
  return fc.oneof(
    { weight: place === 'path' ? 15 : 3, arbitrary: fc.constantFrom(...words) },
    { weight: 1, arbitrary: random },
  );
}

/** A value as URL or header text. */
function textOf(schema: Schema): fc.Arbitrary<string> {
  if (schema.type === 'array') return valueFor(schema.items ?? {}, '').map(String);
  return valueFor(schema, '').map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
}

export function valueFor(schema: Schema, name: string): fc.Arbitrary<unknown> {
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((each) => valueFor(each, name)));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case 'string':
      return stringOf(schema, name);
    case 'integer':
      return integerOf(schema);
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return arrayOf(schema, name);
    case 'object':
      return objectOf(schema);
    default:
      return fc.jsonValue({ maxDepth: 3 }).filter(isPlainText);
  }
}

function numberOf({ minimum, maximum }: Schema): fc.Arbitrary<number> {
  const bounds = {
    ...(minimum === undefined ? {} : { min: minimum }),
    ...(maximum === undefined ? {} : { max: maximum }),
  };
  return fc.double({ noNaN: true, noDefaultInfinity: true, ...bounds });
}

function integerOf({ minimum, maximum }: Schema): fc.Arbitrary<number> {
  return fc.oneof(
    {
      weight: 4,
      arbitrary: fc.integer({ min: minimum ?? 0, max: Math.min(maximum ?? 50, (minimum ?? 0) + 50) }),
    },
    { weight: 1, arbitrary: fc.integer({ min: minimum ?? 0, max: maximum ?? 2 ** 31 - 1 }) },
  );
}

function arrayOf({ items = {}, minItems = 0, maxItems = 5, uniqueItems = false }: Schema, name: string) {
  const lengths = { minLength: minItems, maxLength: Math.max(minItems, Math.min(maxItems, 5)) };
  const values = valueFor(items, name);
  return uniqueItems
    ? fc.uniqueArray(values, { ...lengths, selector: (value) => JSON.stringify(value) })
    : fc.array(values, lengths);
}

function objectOf({ properties = {}, required = [], additionalProperties, maxProperties = 5 }: Schema) {
  const members = Object.entries(properties).map(([name, schema]) => [name, valueFor(schema, name)] as const);
  const declared = fc.record(Object.fromEntries(members), { requiredKeys: required });
  if (typeof additionalProperties !== 'object') return declared;
  const keys = fc.string({ minLength: 1, maxLength: 20 }).filter(isPlainText);
  const more = fc.dictionary(keys, valueFor(additionalProperties, ''), {
    maxKeys: Math.min(maxProperties, 5),
  });
  return fc.tuple(declared, more).map(([one, other]) => ({ ...other, ...one }));
}

function stringOf(schema: Schema, name: string): fc.Arbitrary<string> {
  const { pattern } = schema;
  const form = pattern === undefined ? undefined : new RegExp(pattern, 'u');
  // An id of the world is inserted later.
  const words = (known[name] ?? []).filter(
    (word) => form === undefined || word.startsWith('{{') || form.test(word),
  );
  const random = randomString(schema);
  if (words.length === 0) return random;
  return fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...words) }, { weight: 1, arbitrary: random });
}

function randomString({ format, pattern, minLength = 0, maxLength = 100 }: Schema): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'date-time' || format === 'date') {
    const [min, max] = [new Date('0001-01-01T00:00:00.000Z'), new Date('9999-12-31T23:59:59.999Z')];
    const length = format === 'date' ? 10 : 24;
    const near = fc.constantFrom('2026-11-01', '2026-11-08', '2026-12-01').map((day) => new Date(day));
    const any = fc.date({ min, max, noInvalidDate: true });
    return fc.oneof(any, near).map((date) => date.toISOString().slice(0, length));
  }
  const fits = (text: string) =>
    isPlainText(text) && [...text].length >= minLength && [...text].length <= maxLength;
  if (pattern !== undefined) {
    const rule = new RegExp(pattern, 'u');
    // The filter applies lookaround assertions.
    const form = new RegExp(pattern.replaceAll(/\(\?<?[!=][^)]*\)/g, ''));
    return fc
      .stringMatching(form, { maxLength: Math.min(maxLength, 300) })
      .filter((text) => rule.test(text) && fits(text));
  }
  const short = fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 20) });
  const longest = Math.min(maxLength, 2_000);
  const long = fc.constantFrom('x', 'é', '€', '𝔘').map((unit) => unit.repeat(longest));
  return fc.oneof({ weight: 9, arbitrary: short.filter(fits) }, { weight: 1, arbitrary: long.filter(fits) });
}

/** Rules for strings that the document states only in words. */
function isPlainText(value: unknown): boolean {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return !text.includes('\0') && !text.includes('\\u0000') && !text.includes('\\ud') && text.isWellFormed();
}
