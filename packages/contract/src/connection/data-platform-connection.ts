/** Connections to data warehouses. */
import { type Static, Type } from 'typebox';
import { vaultNameProblems } from '../agent/vault-access.ts';
import { ConnectionPropertyMap } from '../environment/environment-connection.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { ifMatchHeader, Name, oneOf, pageOf, pageQuery } from '../primitives.ts';
import { connectedWarehouses, projectPath } from '../project/project.ts';

/** The words of a data warehouse connection, member by member. */
export const dataPlatformWords = {
  platformConnectionType: ['DWH'],
  authProvider: connectedWarehouses,
  authType: ['KEY_PAIR', 'PASSWORD', 'NONE'],
} as const;

/** Properties that must be references to secrets, never values. */
export const secretProperties: readonly string[] = [
  ...['password', 'readPassword', 'privateKey', 'passphrase'],
  ...['readPrivateKey', 'readPassphrase'],
];

const Properties = Type.Unsafe<Static<typeof ConnectionPropertyMap>>({
  ...ConnectionPropertyMap,
  description:
    'By property name, a value or a reference to a secret. SNOWFLAKE: account, host, username, privateKey, passphrase, role, warehouse, ' +
    'database, schema, timeZone, readUsername, readPrivateKey, readPassphrase, readRole. REDSHIFT and POSTGRES: host, port, username, password, readUsername, readPassword, database, schema, ' +
    'sslMode, sslRootCertificate. ' +
    `${secretProperties.join(', ')} must be references to secrets. Other properties are stored and returned unchanged`,
});

export const DataPlatformConnection = named(
  'DataPlatformConnection',
  Type.Object({
    name: Name,
    platformConnectionType: oneOf(dataPlatformWords.platformConnectionType),
    authProvider: oneOf(dataPlatformWords.authProvider),
    authType: oneOf(dataPlatformWords.authType),
    connectionProperties: Type.Optional(ConnectionPropertyMap),
  }),
);
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
  summary: 'List data warehouse connections',
  description: 'Sorted by name.',
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
  description:
    '`platformConnectionType`, `authProvider` and `authType` are not case-sensitive. Responses have them in upper case.',
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
  problems: ['connection-name-taken', 'unknown-word', 'connection-properties', ...vaultNameProblems],
  events: ['connection-created', 'vault-names-granted'],
});

export const getDataPlatformConnection = operation({
  ...oneConnection,
  id: 'getDataPlatformConnection',
  method: 'GET',
  summary: 'Get a data warehouse connection',
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
    'Replaces all properties. Properties that the request omits are removed. `authProvider` cannot be changed: if the request has it, it must be that of the connection.',
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
    ...vaultNameProblems,
    'connection-properties',
    'etag-mismatch',
  ],
  events: ['connection-updated', 'vault-names-granted'],
});

export const deleteDataPlatformConnection = operation({
  ...oneConnection,
  id: 'deleteDataPlatformConnection',
  method: 'DELETE',
  summary: 'Delete a data warehouse connection',
  description: 'Environments that use the connection no longer have a connection to its warehouse.',
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
