/** Definitions of streaming pipelines: one of each kind, and random ones. */
import { streamingSecretTypes, streamingTargetWords } from '@headgate/contract';
import fc from 'fast-check';

export interface TestDefinition {
  name: string;
  streamingSource: Record<string, unknown>;
  streamingTarget: Record<string, unknown>;
  advancedProperties?: Record<string, unknown>;
}

const character = fc
  .oneof(fc.integer({ min: 1, max: 0x2ff }), fc.integer({ min: 1, max: 0x10_ffff }))
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point));
/** Text as the interface takes it: valid Unicode without NUL. A unit of `fc.string` costs a map of all characters. */
const text = (options: { min?: number; max?: number } = {}) =>
  fc
    .array(character, { minLength: options.min ?? 1, maxLength: options.max ?? 20 })
    .map((characters) => characters.join(''));
const name = text();
const host = fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6(), fc.constantFrom('localhost', '[::1]', 'db_1'));
const storageName = fc.stringMatching(/^[a-z0-9][a-z0-9.-]{1,40}$/);

/** A word in any case. */
const anyCase = (words: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...words), fc.infiniteStream(fc.boolean()))
    .map(([word, upper]) =>
      [...word].map((letter) => (upper.next().value ? letter.toUpperCase() : letter)).join(''),
    );

/** Members of which some are optional. */
function members<Shape extends Record<string, fc.Arbitrary<unknown>>>(
  required: Shape,
  optional: Record<string, fc.Arbitrary<unknown>> = {},
): fc.Arbitrary<Record<string, unknown>> {
  return fc.record({ ...required, ...optional }, { requiredKeys: Object.keys(required) });
}

const secret = fc.oneof(
  ...[{}, { secretKey: text({ min: 0 }) }, { key: text({ min: 0 }) }].map((keys) =>
    members(
      { secretType: anyCase(streamingSecretTypes), secretName: name, ...keys },
      { secretLocation: name },
    ),
  ),
);

const properties = fc.dictionary(
  fc.oneof(
    fc.constantFrom('sslmode', 'buffer.size', '__proto__', 'constructor'),
    fc.stringMatching(/^p[a-c.]{0,8}$/),
  ),
  fc.oneof(text({ min: 0 }), fc.boolean(), fc.integer(), fc.double({ noNaN: true, min: -1e9, max: 1e9 })),
  { maxKeys: 4 },
);

const connection = (more: Record<string, fc.Arbitrary<unknown>>, optional = {}) =>
  members(
    { host, port: fc.integer({ min: 1, max: 65_535 }), username: name, password: secret, ...more },
    { jdbcProperties: properties, ...optional },
  );

const tables = fc.array(fc.record({ schema: name, table: name }), { minLength: 1, maxLength: 4 });
const source = (type: string, of: fc.Arbitrary<unknown>) =>
  members({ type: anyCase([type]), connection: of, tables });
const target = (
  type: string,
  required: Record<string, fc.Arbitrary<unknown>>,
  optional?: Record<string, fc.Arbitrary<unknown>>,
) => members({ type: anyCase([type]), ...required }, optional);

/** By type. */
export const randomSources = {
  postgres: source('postgres', connection({ database: name })),
  sqlserver: source('sqlserver', connection({ database: name })),
  mysql: source('mysql', connection({})),
  oracle: source('oracle', connection({ database: name }, { pdb: name })),
  db2ibmi: source('db2ibmi', connection({})),
};

const { decimalMapping, authenticationType, ...snowflakeWords } = streamingTargetWords;
const stored = { prefix: text({ min: 0 }), decimalMapping: anyCase(decimalMapping) };

/** By type. */
export const randomTargets = {
  s3: target('s3', { bucket: storageName }, stored),
  gcs: target('gcs', { bucket: storageName }, stored),
  abs: target('abs', { container: storageName, accountName: storageName, accountKey: secret }, stored),
  snowflake: target(
    'snowflake',
    {
      connection: members(
        {
          accountName: storageName,
          username: name,
          authentication: members(
            { type: anyCase(authenticationType), privateKey: secret },
            { passphrase: secret },
          ),
        },
        { jdbcProperties: properties },
      ),
      role: name,
      warehouse: name,
      database: name,
      stageSchema: name,
      stageName: name,
      tableSchema: name,
      tablePrefixType: anyCase(snowflakeWords.tablePrefixType),
      transformationType: anyCase(snowflakeWords.transformationType),
    },
    { stagePrefix: text({ min: 0 }), temporalMapping: anyCase(snowflakeWords.temporalMapping) },
  ),
  postgres: target('postgres', { connection: connection({ database: name }), schema: name }),
  file: target('file', { path: name, format: fc.constantFrom('avro', 'PARQUET', 'json') }),
};

/** Any combination of a source and a target. The name is a counter, because names are unique. */
export const randomDefinition = members(
  {
    streamingSource: fc.oneof(...Object.values(randomSources)),
    streamingTarget: fc.oneof(...Object.values(randomTargets)),
  },
  { advancedProperties: properties },
) as fc.Arbitrary<Omit<TestDefinition, 'name'>>;

/** What a response has of what was written: the only differences that the interface allows. */
export function expectAnswer(written: unknown, at = ''): unknown {
  if (Array.isArray(written)) return written.map((each) => expectAnswer(each, at));
  if (typeof written !== 'object' || written === null) return written;
  const isMap = /Properties$/.test(at);
  const shown = Object.entries(written).map(([member, value]) => {
    if (isMap) return [member, String(value)];
    const isKind = member === 'type' && at !== 'authentication';
    return [member, isKind ? String(value).toLowerCase() : expectAnswer(value, member)];
  });
  const keys = [...new Set(Object.keys(written))];
  const has = (member: string) => !isMap && keys.includes(member);
  if (has('secretName') && (has('key') || has('secretKey'))) {
    const { key, secretKey = key } = written as { key?: string; secretKey?: string };
    shown.push(['key', secretKey], ['secretKey', secretKey]);
  }
  return Object.fromEntries(shown);
}
