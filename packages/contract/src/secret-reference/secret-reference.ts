/**
 * Names for secrets that a customer's vault holds.
 */
import { type Static, Type } from 'typebox';
import { vaultNameProblems } from '../agent/vault-access.ts';
import { awsVaultTypes, azureVaultTypes, gcpVaultTypes, plainVaultTypes } from '../connection/connection.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { Description, Name, OpaqueId, oneOf, pageOf, pageQuery, Uuid } from '../primitives.ts';
import { projectPath } from '../project/project.ts';

export const secretReferenceTypes = [
  'PASSWORD',
  'OAUTH_USER_TOKENS',
  'OAUTH_AUTHORIZATION_CODE',
  'OAUTH_CLIENT_CRED',
  'OAUTH_CLIENT_CREDENTIALS',
  'COMPOSITE_TOKEN',
  'CLOUD_PLATFORM_CREDENTIALS',
] as const;
export const secretProviders = ['AWS', 'AZURE', 'GCP', 'HEADGATE'] as const;
export type SecretProvider = (typeof secretProviders)[number];
const SecretProvider = named('SecretProvider', oneOf(secretProviders));
/** Both names of the hosted agent are accepted; responses have the one that was written. */
export const secretAgentTypes = ['AWS', 'Azure', 'GCP', 'Headgate hosted', 'Matillion hosted'] as const;
export const secretVaultTypes = [
  ...awsVaultTypes,
  ...azureVaultTypes,
  ...gcpVaultTypes,
  ...plainVaultTypes,
] as const;

export const SecretReferenceName = named(
  'SecretReferenceName',
  Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: '^[\\w()-]{1,128}$',
    'x-form': 'a name of letters, digits, _, -, ( and ), such as orders-api-key',
    description: 'The name of the reference in the project',
  }),
);
const referenceType = named('SecretReferenceType', oneOf(secretReferenceTypes));
const VaultText = Type.String({ minLength: 1, maxLength: 1_024 });

const storedMembers = {
  description: Type.Optional(Description),
  secretName: Type.String({ ...VaultText, description: 'The name of the secret in the vault' }),
  secretKey: Type.Optional(
    Type.String({ maxLength: 1_024, description: 'The key within the secret in the vault' }),
  ),
  vaultName: Type.Optional(Name),
  vaultType: Type.Optional(
    Type.Unsafe<(typeof secretVaultTypes)[number]>({
      ...oneOf(secretVaultTypes),
      description: 'Several names mean the same kind of vault. Responses have the name that was written',
    }),
  ),
};

/** `agentType` and `agentId` are those of the request. */
export const SecretReference = named(
  'SecretReference',
  Type.Object({
    name: SecretReferenceName,
    type: referenceType,
    ...storedMembers,
    provider: Type.Optional(SecretProvider),
    agentType: Type.Optional(oneOf(secretAgentTypes)),
    agentId: Type.Optional(Uuid),
  }),
);
export type SecretReference = Static<typeof SecretReference>;

const anyCase = (words: readonly string[]) =>
  Type.Optional(
    Type.String({ minLength: 1, maxLength: 50, description: `${words.join(', ')}; not case-sensitive` }),
  );
const requestMembers = {
  ...storedMembers,
  provider: anyCase(secretProviders),
  agentType: anyCase(secretAgentTypes),
  agentId: Type.Optional(OpaqueId),
};

const referenceOperation = { surface: 'dpc', tag: 'Secret references' } as const;
const path = '/v1/projects/{projectId}/secret-references';
const onePath = `${path}/{secretReferenceName}` as const;
const oneParams = Type.Object({ ...projectPath, secretReferenceName: SecretReferenceName });

export const listSecretReferences = operation({
  ...referenceOperation,
  id: 'listSecretReferences',
  method: 'GET',
  path,
  summary: 'List secret references',
  description:
    'Sorted by name. Contains the references of one type: `secretReferenceType`, or `type`, or PASSWORD by default. `provider` filters references of all types except PASSWORD. ' +
    'A reference without a provider has the provider of its `vaultType`.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({
    ...pageQuery,
    secretReferenceType: Type.Optional(referenceType),
    type: Type.Optional(
      Type.Unsafe<(typeof secretReferenceTypes)[number]>({
        ...referenceType,
        description: 'Used if `secretReferenceType` is absent',
      }),
    ),
    provider: Type.Optional(SecretProvider),
  }),
  success: { status: 200, body: pageOf(SecretReference) },
  problems: [],
  events: [],
});

export const createSecretReference = operation({
  ...referenceOperation,
  id: 'createSecretReference',
  method: 'POST',
  path: onePath,
  summary: 'Create a secret reference',
  description:
    'A secret reference states where a secret is stored. The request does not check that the secret exists. The project must be allowed to use the name: names that begin with its own id and `/` or `-`, and those of `vaultAccess` of the agent (of any agent without `agentId`). A caller who may manage agents grants another name by this request. One of `secretReferenceType` and `type` is required; `secretReferenceType` takes precedence.',
  permission: 'project:configure',
  params: oneParams,
  body: Type.Union([
    Type.Object({
      secretReferenceType: referenceType,
      type: Type.Optional(referenceType),
      ...requestMembers,
    }),
    Type.Object({
      type: referenceType,
      secretReferenceType: Type.Optional(referenceType),
      ...requestMembers,
    }),
  ]),
  success: { status: 201, body: SecretReference, headers: ['Location'] },
  problems: ['secret-reference-taken', 'unknown-word', 'unknown-agent', ...vaultNameProblems],
  events: ['secret-reference-created', 'vault-names-granted'],
});

export const deleteSecretReference = operation({
  ...referenceOperation,
  id: 'deleteSecretReference',
  method: 'DELETE',
  path: onePath,
  summary: 'Delete a secret reference',
  description:
    'Refused if a connection, a streaming pipeline or an OAuth configuration uses the reference, unless `force` is true. The secret in the vault is never deleted. A connection uses a reference if a secret name in its properties ' +
    'or in an override is the name of the reference or its `secretName`, with the same `secretKey` if both have one. A streaming pipeline uses it in the same way, an OAuth configuration by its name only.',
  permission: 'project:configure',
  params: oneParams,
  query: Type.Object({ force: Type.Boolean({ default: false }) }),
  success: { status: 204 },
  problems: ['secret-reference-not-found', 'secret-reference-in-use'],
  events: ['secret-reference-deleted'],
});

export const secretReferenceOperations = [
  listSecretReferences,
  createSecretReference,
  deleteSecretReference,
] as const;
