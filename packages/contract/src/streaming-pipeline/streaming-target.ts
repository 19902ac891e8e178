/** Targets of streaming pipelines. */
import { type TObject, type TSchema, Type } from 'typebox';
import { Name, oneOfAnyCase } from '../primitives.ts';
import { answerParts, type Parts, requestParts } from './streaming-parts.ts';
import { declareConnection } from './streaming-source.ts';

export const streamingTargetTypes = ['s3', 'abs', 'gcs', 'snowflake', 'postgres', 'file'] as const;
export type StreamingTargetType = (typeof streamingTargetTypes)[number];

export const streamingTargetWords = {
  decimalMapping: ['legacy', 'logical'],
  authenticationType: ['key-pair'],
  tablePrefixType: ['prefix', 'source_database_and_schema', 'none'],
  transformationType: ['copy_table', 'copy_table_soft_delete', 'change_log'],
  temporalMapping: ['native', 'epoch'],
} as const;

const Prefix = Type.String({ maxLength: 1_024, description: 'May be empty' });
const storageName = (noun: string, example: string) =>
  Type.String({
    minLength: 1,
    maxLength: 255,
    pattern: '^[^\\s/\\\\\\u0000-\\u001f\\u007f]+$',
    'x-form': `the name of ${noun}, without scheme and path, such as ${example}`,
  });

const decimalMapping = () =>
  Type.Optional(
    oneOfAnyCase(streamingTargetWords.decimalMapping, {
      description: `How decimal numbers are written: ${streamingTargetWords.decimalMapping.join(' or ')}; not case-sensitive`,
    }),
  );

type Members = Record<string, TSchema>;

const bucketMembers = (noun: string) => (): Members => ({
  bucket: storageName(noun, 'orders-stream'),
  prefix: Type.Optional(Prefix),
  decimalMapping: decimalMapping(),
});

const membersOf: Readonly<Record<StreamingTargetType, (parts: Parts) => Members>> = {
  s3: bucketMembers('a bucket'),
  gcs: bucketMembers('a bucket'),
  abs: ({ secret }) => ({
    container: storageName('a container', 'orders-stream'),
    prefix: Type.Optional(Prefix),
    accountName: storageName('a storage account', 'mystorageaccount'),
    accountKey: secret,
    decimalMapping: decimalMapping(),
  }),
  snowflake: ({ secret, properties }) => ({
    connection: Type.Object({
      accountName: storageName('a Snowflake account', 'myorg-account1'),
      username: Name,
      authentication: Type.Object({
        type: oneOfAnyCase(streamingTargetWords.authenticationType),
        privateKey: secret,
        passphrase: Type.Optional(secret),
      }),
      jdbcProperties: Type.Optional(properties),
    }),
    role: Name,
    warehouse: Name,
    database: Name,
    stageSchema: Name,
    stageName: Name,
    stagePrefix: Type.Optional(Prefix),
    tableSchema: Name,
    tablePrefixType: oneOfAnyCase(streamingTargetWords.tablePrefixType),
    transformationType: oneOfAnyCase(streamingTargetWords.transformationType),
    temporalMapping: Type.Optional(oneOfAnyCase(streamingTargetWords.temporalMapping)),
  }),
  postgres: (parts) => ({ connection: declareConnection(parts, { database: Name }), schema: Name }),
  file: () => ({
    path: Type.String({ minLength: 1, maxLength: 1_024 }),
    format: Type.String({
      minLength: 1,
      maxLength: 50,
      pattern: '^[\\w.+-]+$',
      'x-form': 'the name of a file format, such as avro',
    }),
  }),
};

const componentNames: Readonly<Record<StreamingTargetType, string>> = {
  s3: 'StreamingAmazonStorageTarget',
  abs: 'StreamingAzureStorageTarget',
  gcs: 'StreamingGoogleStorageTarget',
  snowflake: 'StreamingSnowflakeTarget',
  postgres: 'StreamingPostgresTarget',
  file: 'StreamingFileTarget',
};

function declareTarget(parts: Parts, type: StreamingTargetType): TObject {
  return parts.named(
    componentNames[type],
    Type.Object({ type: parts.type(type), ...membersOf[type](parts) }),
  );
}

/** By type. */
export const streamingTargetRequests: Readonly<Record<StreamingTargetType, TObject>> = {
  s3: declareTarget(requestParts, 's3'),
  abs: declareTarget(requestParts, 'abs'),
  gcs: declareTarget(requestParts, 'gcs'),
  snowflake: declareTarget(requestParts, 'snowflake'),
  postgres: declareTarget(requestParts, 'postgres'),
  file: declareTarget(requestParts, 'file'),
};

export interface StreamingTarget {
  type: string;
  [member: string]: unknown;
}

export const StreamingTargetRequest = requestParts.named(
  'StreamingTarget',
  Type.Unsafe<StreamingTarget>(Type.Union(Object.values(streamingTargetRequests))),
);
export const StreamingTarget = answerParts.named(
  'StreamingTarget',
  Type.Unsafe<StreamingTarget>(
    Type.Union(streamingTargetTypes.map((type) => declareTarget(answerParts, type))),
  ),
);
