/**
 * Names for secrets that a customer's vault holds: interface.md E16, E17; decisions.md §1, E16, E17;
 * shapes.md, Secret reference.
 */
import { type Static, Type } from 'typebox';
import { awsVaultTypes, azureVaultTypes, gcpVaultTypes, plainVaultTypes } from '../connection/connection.ts';
import { operation } from '../operation.ts';
import { Description, Name, OpaqueId, oneOf, pageOf, pageQuery, Uuid } from '../primitives.ts';
import { projectPath } from '../project/project.ts';

/** interface.md, Secret reference: type values. */
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
/** Both words for the hosted agent are read, and the one that was written is given back (decisions.md §1). */
export const secretAgentTypes = ['AWS', 'Azure', 'GCP', 'Headgate hosted', 'Matillion hosted'] as const;
export const secretVaultTypes = [
  ...awsVaultTypes,
  ...azureVaultTypes,
  ...gcpVaultTypes,
  ...plainVaultTypes,
] as const;

export const SecretReferenceName = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: '^[\\w()-]{1,128}$',
  'x-form': 'a name of letters, digits, _, -, ( and ), such as orders-api-key',
  description: 'Name of the reference in the project',
});
const VaultText = Type.String({ minLength: 1, maxLength: 1_024 });

const kept = {
  description: Type.Optional(Description),
  secretName: Type.String({ ...VaultText, description: 'Name of the secret in the vault' }),
  secretKey: Type.Optional(
    Type.String({ maxLength: 1_024, description: 'Key within the secret of the vault' }),
  ),
  vaultName: Type.Optional(Name),
  vaultType: Type.Optional(
    Type.Unsafe<(typeof secretVaultTypes)[number]>({
      ...oneOf(secretVaultTypes),
      description: 'Every spelling of a kind is read, and the one that was written is given back',
    }),
  ),
};

/** interface.md, Secret reference; `agentType` and `agentId` as they were asked for. */
export const SecretReference = Type.Object({
  name: SecretReferenceName,
  type: oneOf(secretReferenceTypes),
  ...kept,
  provider: Type.Optional(oneOf(secretProviders)),
  agentType: Type.Optional(oneOf(secretAgentTypes)),
  agentId: Type.Optional(Uuid),
});
export type SecretReference = Static<typeof SecretReference>;

const anyCase = (words: readonly string[]) =>
  Type.Optional(
    Type.String({ minLength: 1, maxLength: 50, description: `${words.join(', ')}; in any case` }),
  );
const asked = {
  ...kept,
  provider: anyCase(secretProviders),
  agentType: anyCase(secretAgentTypes),
  agentId: Type.Optional(OpaqueId),
};
const referenceType = oneOf(secretReferenceTypes);

const referenceOperation = { surface: 'dpc', tag: 'Secret references' } as const;
const path = '/v1/projects/{projectId}/secret-references';
const onePath = `${path}/{secretReferenceName}` as const;
const oneParams = Type.Object({ ...projectPath, secretReferenceName: SecretReferenceName });

export const listSecretReferences = operation({
  ...referenceOperation,
  id: 'listSecretReferences',
  method: 'GET',
  path,
  summary: 'List the secret references of a project, by name',
  description:
    'Of one type: PASSWORD unless `secretReferenceType` or `type` names another. `provider` narrows the other types only; a reference that ' +
    'was made without one counts as that of its `vaultType`.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({
    ...pageQuery,
    secretReferenceType: Type.Optional(referenceType),
    type: Type.Optional(
      Type.Unsafe<(typeof secretReferenceTypes)[number]>({
        ...referenceType,
        description: 'Read when `secretReferenceType` is absent',
      }),
    ),
    provider: Type.Optional(oneOf(secretProviders)),
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
    'It says where a secret is kept, never what it is. Whether the vault has the secret is not looked at here. `type` is read when ' +
    '`secretReferenceType` is absent; one of them is required.',
  permission: 'project:configure',
  params: oneParams,
  body: Type.Union([
    Type.Object({ secretReferenceType: referenceType, type: Type.Optional(referenceType), ...asked }),
    Type.Object({ type: referenceType, secretReferenceType: Type.Optional(referenceType), ...asked }),
  ]),
  success: { status: 201, body: SecretReference, headers: ['Location'] },
  problems: ['secret-reference-taken', 'unknown-word', 'unknown-agent'],
  events: ['secret-reference-created'],
});

export const deleteSecretReference = operation({
  ...referenceOperation,
  id: 'deleteSecretReference',
  method: 'DELETE',
  path: onePath,
  summary: 'Delete a secret reference',
  description:
    'Refused while a connection names it, unless `force` is true; the secret in the vault stays in any case. A connection names it when a secret ' +
    'name of its properties or of an override is the name of the reference, or its `secretName` (with the same `secretKey`, where both have one).',
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
