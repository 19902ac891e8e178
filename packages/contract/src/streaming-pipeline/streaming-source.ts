/** Sources of streaming pipelines. */
import { type TObject, type TSchema, Type } from 'typebox';
import { Name } from '../primitives.ts';
import { answerParts, type Parts, requestParts } from './streaming-parts.ts';

export const streamingSourceTypes = ['postgres', 'sqlserver', 'mysql', 'oracle', 'db2ibmi'] as const;
export type StreamingSourceType = (typeof streamingSourceTypes)[number];

/** Tables of one pipeline. */
export const streamingTableLimit = 5_000;

const Host = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[^\\s/@?#\\\\\\u0000-\\u001f\\u007f]+$',
  'x-form': 'the name or address of a host, without scheme, user and path, such as db.example.com',
});

type Members = Record<string, TSchema>;

/** The members of a connection to a database, and those that only some kinds have. */
export function declareConnection({ secret, properties }: Parts, more: Members) {
  return Type.Object({
    host: Host,
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    ...more,
    username: Name,
    password: secret,
    jdbcProperties: Type.Optional(properties),
  });
}

const moreMembers: Readonly<Record<StreamingSourceType, () => Members>> = {
  postgres: () => ({ database: Name }),
  sqlserver: () => ({ database: Name }),
  mysql: () => ({}),
  oracle: () => ({
    database: Name,
    pdb: Type.Optional(Type.String({ ...Name, description: 'The pluggable database' })),
  }),
  db2ibmi: () => ({}),
};

const componentNames: Readonly<Record<StreamingSourceType, string>> = {
  postgres: 'StreamingPostgresSource',
  sqlserver: 'StreamingSqlServerSource',
  mysql: 'StreamingMySqlSource',
  oracle: 'StreamingOracleSource',
  db2ibmi: 'StreamingIbmSource',
};

function declareSource(parts: Parts, type: StreamingSourceType): TObject {
  return parts.named(
    componentNames[type],
    Type.Object({
      type: parts.type(type),
      connection: declareConnection(parts, moreMembers[type]()),
      tables: Type.Array(Type.Object({ schema: Name, table: Name }), {
        minItems: 1,
        maxItems: streamingTableLimit,
      }),
    }),
  );
}

/** By type. */
export const streamingSourceRequests: Readonly<Record<StreamingSourceType, TObject>> = {
  postgres: declareSource(requestParts, 'postgres'),
  sqlserver: declareSource(requestParts, 'sqlserver'),
  mysql: declareSource(requestParts, 'mysql'),
  oracle: declareSource(requestParts, 'oracle'),
  db2ibmi: declareSource(requestParts, 'db2ibmi'),
};

export interface StreamingSource {
  type: string;
  connection: Record<string, unknown>;
  tables: { schema: string; table: string }[];
}

export const StreamingSourceRequest = requestParts.named(
  'StreamingSource',
  Type.Unsafe<StreamingSource>(Type.Union(Object.values(streamingSourceRequests))),
);
export const StreamingSource = answerParts.named(
  'StreamingSource',
  Type.Unsafe<StreamingSource>(
    Type.Union(streamingSourceTypes.map((type) => declareSource(answerParts, type))),
  ),
);
