/** Connections to data warehouses: shapes.md, Projects; decisions.md §5, Data platform connections. */
import { type Static, Type } from 'typebox';
import { ConnectionPropertyMap } from '../environment/environment-connection.ts';
import { operation } from '../operation.ts';
import { ifMatchHeader, Name, oneOf, pageOf, pageQuery } from '../primitives.ts';
import { projectPath, warehouses } from '../project/project.ts';

/** The words of a data warehouse connection, member by member. */
export const dataPlatformWords = {
  platformConnectionType: ['DWH'],
  authProvider: warehouses,
  authType: ['KEY_PAIR', 'PASSWORD', 'NONE'],
} as const;

/** Properties that hold a secret: they name where it is kept, and never hold it (shapes.md, Projects). */
export const secretProperties: readonly string[] = ['password', 'privateKey', 'passphrase'];

const Properties = Type.Unsafe<Static<typeof ConnectionPropertyMap>>({
  ...ConnectionPropertyMap,
  description:
    'By the property, a value or where a secret is kept. SNOWFLAKE: account, username, privateKey or password, passphrase, role, warehouse, ' +
    'database, schema. REDSHIFT and POSTGRES: host, port, username, password, database, schema, sslMode, sslRootCertificate. ' +
    `${secretProperties.join(', ')} are references to secrets only. Others are kept and given back as they are`,
});

export const DataPlatformConnection = Type.Object({
  name: Name,
  platformConnectionType: oneOf(dataPlatformWords.platformConnectionType),
  authProvider: oneOf(dataPlatformWords.authProvider),
  authType: oneOf(dataPlatformWords.authType),
  connectionProperties: Type.Optional(ConnectionPropertyMap),
});
export type DataPlatformConnection = Static<typeof DataPlatformConnection>;

const Word = Type.String({ minLength: 1, maxLength: 50 });
const path = '/v1/projects/{projectId}/data-platform-connections';
const onePath = `${path}/{connectionName}` as const;
const connectionOperation = { surface: 'dpc', tag: 'Connections' } as const;
const oneConnection = {
  ...connectionOperation,
  path: onePath,
  params: Type.Object({ ...projectPath, connectionName: Name }),
};

export const listDataPlatformConnections = operation({
  ...connectionOperation,
  id: 'listDataPlatformConnections',
  method: 'GET',
  path,
  summary: 'List the data warehouse connections of a project, by name',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(DataPlatformConnection) },
  problems: [],
  events: [],
});

export const createDataPlatformConnection = operation({
  ...connectionOperation,
  id: 'createDataPlatformConnection',
  method: 'POST',
  path,
  summary: 'Create a data warehouse connection',
  description: 'Its words are read in any case, and given back in capitals.',
  permission: 'project:configure',
  params: Type.Object(projectPath),
  body: Type.Object({
    name: Name,
    platformConnectionType: Word,
    authProvider: Word,
    authType: Word,
    connectionProperties: Type.Optional(Properties),
  }),
  success: { status: 201, body: DataPlatformConnection, headers: ['Location', 'ETag'] },
  problems: ['connection-name-taken', 'unknown-word', 'connection-properties'],
  events: ['connection-created'],
});

export const getDataPlatformConnection = operation({
  ...oneConnection,
  id: 'getDataPlatformConnection',
  method: 'GET',
  summary: 'Read one data warehouse connection',
  permission: 'project:read',
  success: { status: 200, body: DataPlatformConnection, headers: ['ETag'] },
  problems: ['connection-not-found'],
  events: [],
});

export const updateDataPlatformConnection = operation({
  ...oneConnection,
  id: 'updateDataPlatformConnection',
  method: 'PUT',
  summary: 'Replace a data warehouse connection',
  description:
    'Fully replaces it: properties that the request leaves out are unset. The provider stays as created; where `authProvider` is sent, ' +
    'it must be the connection’s own.',
  permission: 'project:configure',
  headers: ifMatchHeader,
  body: Type.Object({
    platformConnectionType: Type.Optional(Word),
    authProvider: Type.Optional(Word),
    authType: Word,
    connectionProperties: Type.Optional(Properties),
  }),
  success: { status: 200, body: DataPlatformConnection, headers: ['ETag'] },
  problems: [
    'connection-not-found',
    'unknown-word',
    'connection-provider-fixed',
    'connection-properties',
    'etag-mismatch',
  ],
  events: ['connection-updated'],
});

export const deleteDataPlatformConnection = operation({
  ...oneConnection,
  id: 'deleteDataPlatformConnection',
  method: 'DELETE',
  summary: 'Delete a data warehouse connection',
  description: 'Environments that use it have no connection to its warehouse from then on.',
  permission: 'project:configure',
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['connection-not-found', 'etag-mismatch'],
  events: ['connection-deleted'],
});

export const dataPlatformConnectionOperations = [
  listDataPlatformConnections,
  createDataPlatformConnection,
  getDataPlatformConnection,
  updateDataPlatformConnection,
  deleteDataPlatformConnection,
] as const;
