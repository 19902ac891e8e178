/**
 * Project connections: named references to secrets held in a vault. interface.md E1, E2; decisions.md E1, E2;
 * shapes.md Connections.
 */
import { type Static, Type } from 'typebox';
import { operation } from '../operation.ts';
import {
  DateTime,
  Description,
  EnvironmentName,
  ifMatchHeader,
  Name,
  oneOf,
  ProjectId,
  pageOf,
  pageQuery,
  Uuid,
} from '../primitives.ts';
import { projectPath } from '../project/project.ts';

/** interface.md, UpdateConnectionRequest. */
export const authTypes = [
  'GENERIC_SECRET',
  'CLOUD_PROVIDER_SECRET',
  'OAUTH_USER_TOKENS',
  'OAUTH_AUTHORIZATION_CODE',
  'OAUTH_CLIENT_CRED',
  'COMPOSITE_TOKEN',
  'OAUTH_1_0_X_ADS',
] as const;
export type AuthType = (typeof authTypes)[number];
export const platformConnectionTypes = ['COMPONENT_BASIC', 'CLOUD_PLATFORM_CREDENTIALS'] as const;
export type PlatformConnectionType = (typeof platformConnectionTypes)[number];

/**
 * Every spelling of a kind is a member; the one that was written is given back, so that a client sees no
 * drift (decisions.md §1).
 */
export const awsVaultTypes = ['CLOUD_A_SECRET_MANAGER', 'AWS_SECRET_MANAGER'] as const;
export const azureVaultTypes = ['CLOUD_B_SECRET_MANAGER', 'AZURE_SECRET_MANAGER'] as const;
export const gcpVaultTypes = ['CLOUD_C_SECRET_MANAGER', 'GCP_SECRET_MANAGER'] as const;
export const plainVaultTypes = [
  'HEADGATE_CUSTOMER_VAULT',
  'MATILLION_CUSTOMER_VAULT',
  'DEFAULT_SECRET_VAULT',
] as const;

export const SecretsLocation = Type.Union([
  Type.Object({ type: oneOf(awsVaultTypes), region: Type.Optional(Name) }),
  Type.Object({ type: oneOf(azureVaultTypes), vaultName: Type.Optional(Name) }),
  Type.Object({ type: oneOf(gcpVaultTypes), gcpProjectId: Type.Optional(Name) }),
  Type.Object({ type: oneOf(plainVaultTypes) }),
]);
export type SecretsLocation = Static<typeof SecretsLocation>;

const SecretName = Type.String({ minLength: 1, maxLength: 1_024 });
const SecretKey = Type.String({ maxLength: 1_024 });
/** Which of the two shapes must be there follows from the connection's triple; a wrong one is 422. */
export const ConnectionProperties = Type.Object({
  credentialSecretName: Type.Optional(
    Type.String({ maxLength: 1_024, description: 'CLOUD_PLATFORM_CREDENTIALS' }),
  ),
  secretName: Type.Optional(Type.String({ ...SecretName, description: 'COMPONENT_BASIC; required there' })),
  secretKey: Type.Optional(Type.String({ ...SecretKey, description: 'COMPONENT_BASIC' })),
});
export type ConnectionProperties = Static<typeof ConnectionProperties>;

export const ConnectionDetails = Type.Object({
  connectionProperties: Type.Optional(ConnectionProperties),
  description: Type.Optional(Description),
  secretsLocation: Type.Optional(SecretsLocation),
});
export type ConnectionDetails = Static<typeof ConnectionDetails>;

const AuthProvider = Type.String({
  minLength: 1,
  maxLength: 100,
  description: '`NONE`, a connector’s name in lower case, or aws, azure, gcp',
});

const connectionMembers = {
  authProvider: AuthProvider,
  authType: oneOf(authTypes),
  connectionDetails: Type.Optional(ConnectionDetails),
  createdBy: Type.String({ maxLength: 100 }),
  createdDate: DateTime,
  name: Name,
  platformConnectionType: oneOf(platformConnectionTypes),
  projectId: ProjectId,
};
/** interface.md, ProjectConnectionResponse. */
export const ProjectConnection = Type.Object(connectionMembers);
export const IdentifiedConnection = Type.Object({ id: Uuid, ...connectionMembers });
export type IdentifiedConnection = Static<typeof IdentifiedConnection>;

const connectionOperation = { surface: 'dpc', tag: 'Connections', params: Type.Object(projectPath) } as const;
const path = '/v1/projects/{projectId}/connections';
const overridesPath = `${path}/environment-overrides` as const;
const connectionQuery = Type.Object({ connectionName: Name });

export const listConnections = operation({
  ...connectionOperation,
  id: 'listConnections',
  method: 'GET',
  path,
  summary: 'List the connections of a project, by name',
  permission: 'project:read',
  query: Type.Object({
    ...pageQuery,
    authProvider: Type.Optional(AuthProvider),
    platformConnectionType: Type.Optional(oneOf(platformConnectionTypes)),
    connectionNames: Type.Optional(
      Type.String({ minLength: 1, maxLength: 8_192, description: 'Names, divided by commas' }),
    ),
  }),
  success: { status: 200, body: pageOf(IdentifiedConnection) },
  problems: [],
  events: [],
});

export const createConnection = operation({
  ...connectionOperation,
  id: 'createConnection',
  method: 'POST',
  path,
  summary: 'Create a connection',
  permission: 'project:configure',
  body: Type.Object({
    name: Name,
    platformConnectionType: oneOf(platformConnectionTypes),
    authProvider: AuthProvider,
    authType: oneOf(authTypes),
    connectionDetails: Type.Optional(ConnectionDetails),
  }),
  success: { status: 201, body: IdentifiedConnection, headers: ['ETag'] },
  problems: ['connection-name-taken', 'connection-triple', 'connection-properties'],
  events: ['connection-created'],
});

export const updateConnection = operation({
  ...connectionOperation,
  id: 'updateConnection',
  method: 'PUT',
  path,
  summary: 'Replace a connection',
  description:
    'Fully replaces the details: what the request leaves out is unset. The authentication provider stays as created.',
  permission: 'project:configure',
  query: connectionQuery,
  headers: ifMatchHeader,
  body: Type.Object({
    authType: oneOf(authTypes),
    platformConnectionType: oneOf(platformConnectionTypes),
    connectionDetails: Type.Optional(ConnectionDetails),
  }),
  success: { status: 200, body: ProjectConnection, headers: ['ETag'] },
  problems: ['connection-not-found', 'connection-triple', 'connection-properties', 'etag-mismatch'],
  events: ['connection-updated'],
});

export const deleteConnection = operation({
  ...connectionOperation,
  id: 'deleteConnection',
  method: 'DELETE',
  path,
  summary: 'Delete a connection and its environment overrides',
  permission: 'project:configure',
  query: connectionQuery,
  success: { status: 204 },
  problems: ['connection-not-found'],
  events: ['connection-deleted'],
});

const ConnectionOverrides = Type.Object({
  secretsLocation: Type.Optional(SecretsLocation),
  connectionProperties: ConnectionProperties,
});

/** shapes.md, Connections: environment override item. */
export const ConnectionOverride = Type.Object({
  name: Name,
  platformConnectionType: oneOf(platformConnectionTypes),
  authProvider: AuthProvider,
  authType: oneOf(authTypes),
  connectionOverrides: ConnectionOverrides,
  createdBy: Type.String({ maxLength: 100 }),
  createdDate: DateTime,
  projectId: ProjectId,
});
export type ConnectionOverride = Static<typeof ConnectionOverride>;

export const listConnectionOverrides = operation({
  ...connectionOperation,
  id: 'listConnectionOverrides',
  method: 'GET',
  path: overridesPath,
  summary: 'List the connection overrides of an environment, by name',
  permission: 'project:read',
  query: Type.Object({ ...pageQuery, environmentName: EnvironmentName }),
  success: { status: 200, body: pageOf(ConnectionOverride) },
  problems: ['environment-not-found'],
  events: [],
});

export const writeConnectionOverride = operation({
  ...connectionOperation,
  id: 'writeConnectionOverride',
  method: 'POST',
  path: overridesPath,
  summary: 'Create or update the override of a connection in an environment',
  description: 'COMPONENT_BASIC connections only. `authType` must be the connection’s own.',
  permission: 'environment:deliver',
  environmentFrom: 'body.environmentName',
  body: Type.Object({
    environmentName: EnvironmentName,
    connectionName: Name,
    authType: oneOf(authTypes),
    connectionOverrides: ConnectionOverrides,
  }),
  success: { status: 201, body: ConnectionOverride },
  problems: ['environment-not-found', 'connection-not-found', 'connection-override', 'connection-properties'],
  events: ['connection-override-written'],
});

export const deleteConnectionOverrides = operation({
  ...connectionOperation,
  id: 'deleteConnectionOverrides',
  method: 'DELETE',
  path: overridesPath,
  summary: 'Delete overrides of connections in an environment, all of them or none',
  permission: 'environment:deliver',
  environmentFrom: 'query.environmentName',
  query: Type.Object({
    environmentName: EnvironmentName,
    connectionNames: Type.String({ minLength: 1, maxLength: 8_192, description: 'Names, divided by commas' }),
  }),
  success: { status: 204 },
  problems: ['environment-not-found', 'connection-override-not-found'],
  events: ['connection-override-deleted'],
});

export const connectionOperations = [
  listConnections,
  createConnection,
  updateConnection,
  deleteConnection,
  listConnectionOverrides,
  writeConnectionOverride,
  deleteConnectionOverrides,
] as const;
