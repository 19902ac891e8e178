/** Project connections: named references to secrets held in a vault. */
import { type Static, Type } from 'typebox';
import { vaultNameProblems } from '../agent/vault-access.ts';
import { named } from '../named-schema.ts';
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
export const AuthType = named('AuthType', oneOf(authTypes));
export const platformConnectionTypes = ['COMPONENT_BASIC', 'CLOUD_PLATFORM_CREDENTIALS'] as const;
export type PlatformConnectionType = (typeof platformConnectionTypes)[number];
export const PlatformConnectionType = named('PlatformConnectionType', oneOf(platformConnectionTypes));

/**
 * Every spelling of a kind is a member; the one that was written is given back, so that a client sees no
 * drift.
 */
export const awsVaultTypes = ['CLOUD_A_SECRET_MANAGER', 'AWS_SECRET_MANAGER'] as const;
export const azureVaultTypes = ['CLOUD_B_SECRET_MANAGER', 'AZURE_SECRET_MANAGER'] as const;
export const gcpVaultTypes = ['CLOUD_C_SECRET_MANAGER', 'GCP_SECRET_MANAGER'] as const;
export const plainVaultTypes = [
  'HEADGATE_CUSTOMER_VAULT',
  'MATILLION_CUSTOMER_VAULT',
  'DEFAULT_SECRET_VAULT',
] as const;

export const SecretsLocation = named(
  'SecretsLocation',
  Type.Union([
    named('AwsSecretsLocation', Type.Object({ type: oneOf(awsVaultTypes), region: Type.Optional(Name) })),
    named(
      'AzureSecretsLocation',
      Type.Object({ type: oneOf(azureVaultTypes), vaultName: Type.Optional(Name) }),
    ),
    named(
      'GcpSecretsLocation',
      Type.Object({ type: oneOf(gcpVaultTypes), gcpProjectId: Type.Optional(Name) }),
    ),
    named('DefaultSecretsLocation', Type.Object({ type: oneOf(plainVaultTypes) })),
  ]),
);
export type SecretsLocation = Static<typeof SecretsLocation>;

const SecretName = Type.String({ minLength: 1, maxLength: 1_024 });
const SecretKey = Type.String({ maxLength: 1_024 });
/** Which of the two shapes must be there follows from the connection's triple; a wrong one is 422. */
export const ConnectionProperties = named(
  'ConnectionProperties',
  Type.Object({
    credentialSecretName: Type.Optional(
      Type.String({
        maxLength: 1_024,
        description: 'The secret with the credentials. For CLOUD_PLATFORM_CREDENTIALS',
      }),
    ),
    secretName: Type.Optional(
      Type.String({
        ...SecretName,
        description: 'The name of the secret. For COMPONENT_BASIC, where it is required',
      }),
    ),
    secretKey: Type.Optional(
      Type.String({ ...SecretKey, description: 'The key within the secret. For COMPONENT_BASIC' }),
    ),
  }),
);
export type ConnectionProperties = Static<typeof ConnectionProperties>;

export const ConnectionDetails = named(
  'ConnectionDetails',
  Type.Object({
    connectionProperties: Type.Optional(ConnectionProperties),
    description: Type.Optional(Description),
    secretsLocation: Type.Optional(SecretsLocation),
  }),
);
export type ConnectionDetails = Static<typeof ConnectionDetails>;

const AuthProvider = Type.String({
  minLength: 1,
  maxLength: 100,
  description: '`NONE`, the name of a connector in lower case, or `aws`, `azure` or `gcp`',
});

const connectionMembers = {
  authProvider: AuthProvider,
  authType: AuthType,
  connectionDetails: Type.Optional(ConnectionDetails),
  createdBy: Type.String({ maxLength: 100 }),
  createdDate: DateTime,
  name: Name,
  platformConnectionType: PlatformConnectionType,
  projectId: ProjectId,
};
export const ProjectConnection = named('ProjectConnection', Type.Object(connectionMembers));
export const IdentifiedConnection = named('Connection', Type.Object({ id: Uuid, ...connectionMembers }));
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
  summary: 'List connections',
  description: 'Sorted by name.',
  permission: 'project:read',
  query: Type.Object({
    ...pageQuery,
    authProvider: Type.Optional(AuthProvider),
    platformConnectionType: Type.Optional(PlatformConnectionType),
    connectionNames: Type.Optional(
      Type.String({ minLength: 1, maxLength: 8_192, description: 'Names, separated by commas' }),
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
    platformConnectionType: PlatformConnectionType,
    authProvider: AuthProvider,
    authType: AuthType,
    connectionDetails: Type.Optional(ConnectionDetails),
  }),
  success: { status: 201, body: IdentifiedConnection, headers: ['ETag'] },
  problems: ['connection-name-taken', 'connection-triple', 'connection-properties', ...vaultNameProblems],
  events: ['connection-created', 'vault-names-granted'],
});

export const updateConnection = operation({
  ...connectionOperation,
  id: 'updateConnection',
  method: 'PUT',
  path,
  summary: 'Replace a connection',
  description:
    'Replaces all details. Members that the request omits are removed. `authProvider` cannot be changed.',
  permission: 'project:configure',
  query: connectionQuery,
  headers: ifMatchHeader,
  body: Type.Object({
    authType: AuthType,
    platformConnectionType: PlatformConnectionType,
    connectionDetails: Type.Optional(ConnectionDetails),
  }),
  success: { status: 200, body: ProjectConnection, headers: ['ETag'] },
  problems: [
    'connection-not-found',
    'connection-triple',
    'connection-properties',
    'etag-mismatch',
    ...vaultNameProblems,
  ],
  events: ['connection-updated', 'vault-names-granted'],
});

export const deleteConnection = operation({
  ...connectionOperation,
  id: 'deleteConnection',
  method: 'DELETE',
  path,
  summary: 'Delete a connection',
  description: 'Also deletes its environment overrides.',
  permission: 'project:configure',
  query: connectionQuery,
  success: { status: 204 },
  problems: ['connection-not-found'],
  events: ['connection-deleted'],
});

const ConnectionOverrides = named(
  'ConnectionOverrideDetails',
  Type.Object({
    secretsLocation: Type.Optional(SecretsLocation),
    connectionProperties: ConnectionProperties,
  }),
);

export const ConnectionOverride = named(
  'ConnectionOverride',
  Type.Object({
    name: Name,
    platformConnectionType: PlatformConnectionType,
    authProvider: AuthProvider,
    authType: AuthType,
    connectionOverrides: ConnectionOverrides,
    createdBy: Type.String({ maxLength: 100 }),
    createdDate: DateTime,
    projectId: ProjectId,
  }),
);
export type ConnectionOverride = Static<typeof ConnectionOverride>;

export const listConnectionOverrides = operation({
  ...connectionOperation,
  id: 'listConnectionOverrides',
  method: 'GET',
  path: overridesPath,
  summary: 'List connection overrides',
  description: 'The overrides in one environment, sorted by name.',
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
  summary: 'Write a connection override',
  description:
    'Creates or replaces the override of a connection in an environment. Only for COMPONENT_BASIC connections. `authType` must be that of the connection.',
  permission: 'environment:deliver',
  environmentFrom: 'body.environmentName',
  body: Type.Object({
    environmentName: EnvironmentName,
    connectionName: Name,
    authType: AuthType,
    connectionOverrides: ConnectionOverrides,
  }),
  success: { status: 201, body: ConnectionOverride },
  problems: [
    'environment-not-found',
    'connection-not-found',
    'connection-override',
    'connection-properties',
    ...vaultNameProblems,
  ],
  events: ['connection-override-written', 'vault-names-granted'],
});

export const deleteConnectionOverrides = operation({
  ...connectionOperation,
  id: 'deleteConnectionOverrides',
  method: 'DELETE',
  path: overridesPath,
  summary: 'Delete connection overrides',
  description: 'Deletes all the named overrides in an environment, or none.',
  permission: 'environment:deliver',
  environmentFrom: 'query.environmentName',
  query: Type.Object({
    environmentName: EnvironmentName,
    connectionNames: Type.String({
      minLength: 1,
      maxLength: 8_192,
      description: 'Names, separated by commas',
    }),
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
