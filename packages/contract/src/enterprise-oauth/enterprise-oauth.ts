/** Enterprise OAuth connections of the account. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, Name, OpaqueId, oneOf, ProjectId, pageOf, pageQuery, Uuid } from '../primitives.ts';
import { gitProviders } from '../repository/repository-provider.ts';

export const enterpriseOauthsPerAccount = 100;
const BaseUrl = Type.String({
  minLength: 1,
  maxLength: 2_048,
  description: 'The address of a self-hosted provider. Default: the address that the operator has set',
});
const ClientId = Type.String({
  minLength: 1,
  maxLength: 255,
  description: 'github: the id of the App, or its client id. azure-devops: the client id of the application',
});
const TenantId = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[A-Za-z0-9.-]+$',
  'x-form': 'a UUID or a domain name',
  description: 'azure-devops: the Entra tenant',
});
const InstallationId = Type.String({
  minLength: 1,
  maxLength: 20,
  pattern: '^[0-9]+$',
  'x-form': 'a number such as 48151623',
  description: 'github: the installation of the App',
});
const SharedProjects = Type.Array(ProjectId, {
  maxItems: 1_000,
  uniqueItems: true,
  description:
    'The projects whose owners may use the connection for a repository or a migration. Callers who may manage the connections may use it in all of their projects',
});
const GitProviderWord = oneOf(gitProviders);

export const EnterpriseOauth = named(
  'EnterpriseOauth',
  Type.Object({
    enterpriseOauthId: Uuid,
    name: Name,
    provider: GitProviderWord,
    baseUrl: Type.Optional(BaseUrl),
    clientId: ClientId,
    tenantId: Type.Optional(TenantId),
    installationId: Type.Optional(InstallationId),
    projects: SharedProjects,
    createdBy: Uuid,
    createdAt: DateTime,
  }),
);
export type EnterpriseOauth = Static<typeof EnterpriseOauth>;

const enterpriseOauthOperation = {
  surface: 'dpc',
  tag: 'Enterprise OAuth connections',
  permission: 'enterprise-oauths:manage',
} as const;
const path = '/v1/enterprise-oauths';

export const listEnterpriseOauths = operation({
  ...enterpriseOauthOperation,
  id: 'listEnterpriseOauths',
  method: 'GET',
  path,
  summary: 'List enterprise OAuth connections',
  description: 'Newest first, without their secrets.',
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(EnterpriseOauth) },
  problems: [],
  events: [],
});

export const createEnterpriseOauth = operation({
  ...enterpriseOauthOperation,
  id: 'createEnterpriseOauth',
  method: 'POST',
  path,
  summary: 'Create an enterprise OAuth connection',
  description:
    'An application of the account at a Git provider, which gives the server short-lived tokens. ' +
    'github needs `privateKey` and `installationId`; azure-devops needs `clientSecret` and `tenantId`. ' +
    'gitlab has no such applications: use the token of a service account for the repository.',
  body: Type.Object({
    name: Name,
    provider: GitProviderWord,
    baseUrl: Type.Optional(BaseUrl),
    clientId: ClientId,
    clientSecret: Type.Optional(Type.String({ minLength: 1, maxLength: 8_192 })),
    tenantId: Type.Optional(TenantId),
    installationId: Type.Optional(InstallationId),
    privateKey: Type.Optional(
      Type.String({ minLength: 1, maxLength: 16_384, description: 'An RSA private key in PEM' }),
    ),
    projects: Type.Optional(SharedProjects),
  }),
  bodyHoldsSecret: ['/clientSecret', '/privateKey'],
  success: { status: 201, body: EnterpriseOauth, headers: ['Location'] },
  problems: [
    'enterprise-oauth-name-taken',
    'enterprise-oauth-unusable',
    'too-many-enterprise-oauths',
    'clone-url-refused',
    'unknown-project',
  ],
  events: ['enterprise-oauth-created'],
});

export const updateEnterpriseOauth = operation({
  ...enterpriseOauthOperation,
  id: 'updateEnterpriseOauth',
  method: 'PATCH',
  path: `${path}/{enterpriseOauthId}`,
  summary: 'Share an enterprise OAuth connection with projects',
  description:
    '`projects` replaces the list. A project whose repository uses the connection, or that migrates to one that will, cannot be removed.',
  params: Type.Object({ enterpriseOauthId: OpaqueId }),
  body: Type.Object({ projects: SharedProjects }),
  success: { status: 200, body: EnterpriseOauth },
  problems: ['enterprise-oauth-not-found', 'enterprise-oauth-in-use', 'unknown-project'],
  events: ['enterprise-oauth-updated'],
});

export const deleteEnterpriseOauth = operation({
  ...enterpriseOauthOperation,
  id: 'deleteEnterpriseOauth',
  method: 'DELETE',
  path: `${path}/{enterpriseOauthId}`,
  summary: 'Delete an enterprise OAuth connection',
  description: 'Refused while repositories use it.',
  params: Type.Object({ enterpriseOauthId: OpaqueId }),
  success: { status: 204 },
  problems: ['enterprise-oauth-not-found', 'enterprise-oauth-in-use'],
  events: ['enterprise-oauth-deleted'],
});

export const enterpriseOauthOperations = [
  listEnterpriseOauths,
  createEnterpriseOauth,
  updateEnterpriseOauth,
  deleteEnterpriseOauth,
] as const;
