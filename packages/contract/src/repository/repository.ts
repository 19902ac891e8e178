/** The Git repository of a project. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import {
  DateTime,
  EnvironmentName,
  ifMatchHeader,
  mapOf,
  Name,
  oneOf,
  pageOf,
  pageQuery,
  Uuid,
  VersionName,
} from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { repositoryProviders } from './repository-provider.ts';

export const cloneUrlLimit = 2_048;
export const branchNameLimit = 255;
export const protectedBranchLimit = 100;
const parameterLimit = 20;

/** Names of branches are checked by the rules of git, which no pattern expresses. */
export const BranchName = Type.String({
  minLength: 1,
  maxLength: branchNameLimit,
  description: 'The name of a branch, without `refs/heads/`',
});
export const CloneUrl = Type.String({
  minLength: 1,
  maxLength: cloneUrlLimit,
  description: 'An https address without user and password',
});
const RepositoryProviderWord = named(
  'RepositoryProvider',
  oneOf(repositoryProviders, {
    description: '`git`: any other host that serves Git over HTTP. `headgate`: the repository is hosted here',
  }),
);
const ProviderParameters = mapOf(Type.String({ maxLength: 255 }), {
  maxProperties: parameterLimit,
  description:
    'github `ownerName`; gitlab `repositoryId`; azure-devops `organization`, `repositoryId`, `tenantId`; git `username`, the user name sent with the token',
});
const ProtectedBranches = Type.Array(BranchName, {
  maxItems: protectedBranchLimit,
  uniqueItems: true,
  description: 'Branches that can be neither deleted nor rewritten',
});

export const deliveryRuleLimit = 50;

/** A rule in a request. */
export const DeliveryRuleWrite = named(
  'DeliveryRuleWrite',
  Type.Object({ branchName: BranchName, environmentName: EnvironmentName }),
);
export type DeliveryRuleWrite = Static<typeof DeliveryRuleWrite>;

export const DeliveryRule = named(
  'DeliveryRule',
  Type.Object({
    branchName: BranchName,
    environmentName: EnvironmentName,
    writtenBy: Type.String({
      maxLength: 100,
      description:
        'The id of the caller that wrote the rule last. Pushes that a provider reports are published with the rights of this caller.',
    }),
    writtenAt: DateTime,
    commitHash: Type.Optional(
      Type.String({ maxLength: 64, description: 'The commit that was published last, or refused' }),
    ),
    versionName: Type.Optional(VersionName),
    publishedAt: Type.Optional(DateTime),
    problem: Type.Optional(
      Type.String({
        maxLength: 2_000,
        description: 'Why the newest commit is not published, or what is wrong with its pipelines',
      }),
    ),
  }),
);
export type DeliveryRule = Static<typeof DeliveryRule>;

export const Repository = named(
  'Repository',
  Type.Object({
    provider: RepositoryProviderWord,
    repositoryName: Name,
    cloneUrl: CloneUrl,
    defaultBranch: Type.Optional(
      Type.String({ ...BranchName, description: 'Absent until the server has read the repository' }),
    ),
    providerParameters: ProviderParameters,
    protectedBranches: ProtectedBranches,
    deliveryRules: Type.Array(DeliveryRule, {
      maxItems: deliveryRuleLimit,
      description: 'By branch and environment',
    }),
    enterpriseOauthId: Type.Optional(Uuid),
    hasToken: Type.Boolean({ description: 'A token is stored for the repository' }),
    tokenExpiresAt: Type.Optional(DateTime),
    tokenProblem: Type.Optional(
      Type.String({ maxLength: 2_000, description: 'Why the token could not be renewed' }),
    ),
    createdBy: Uuid,
    createdAt: DateTime,
    updatedAt: DateTime,
  }),
);
export type Repository = Static<typeof Repository>;

export const gitTokenLimit = 8_192;
const GitProviderToken = Type.String({
  minLength: 1,
  maxLength: gitTokenLimit,
  description: 'A token of the Git host. It is stored encrypted and sent to the origin of `cloneUrl` only',
});
export const gitProviderTokenHeader = Type.Object({
  'Git-Provider-Access-Token': Type.Optional(GitProviderToken),
});

const repositoryOperation = { surface: 'dpc', tag: 'Repositories' } as const;
const path = '/v1/projects/{projectId}/repositories';

export const listRepositories = operation({
  ...repositoryOperation,
  id: 'listRepositories',
  method: 'GET',
  path,
  summary: 'Get the repository of a project',
  description: 'A page with one item, or none.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(Repository) },
  problems: [],
  events: [],
});

export const createRepository = operation({
  ...repositoryOperation,
  id: 'createRepository',
  method: 'POST',
  path,
  summary: 'Associate a project with a repository',
  description:
    'A project has at most one. The host is not called: read the branches to see whether the address and the token work. ' +
    'Without `cloneUrl`, a github repository is at `{ownerName}/{repositoryName}` of the GitHub that the operator has set.',
  permission: 'repository:manage',
  params: Type.Object(projectPath),
  headers: gitProviderTokenHeader,
  body: Type.Object({
    provider: RepositoryProviderWord,
    repositoryName: Name,
    cloneUrl: Type.Optional(CloneUrl),
    providerParameters: Type.Optional(ProviderParameters),
    enterpriseOauthId: Type.Optional(Uuid),
    defaultBranch: Type.Optional(BranchName),
  }),
  success: { status: 201, body: Repository, headers: ['ETag', 'Location'] },
  problems: [
    'repository-exists',
    'clone-url-required',
    'clone-url-refused',
    'repository-credential-refused',
    'unknown-enterprise-oauth',
    'invalid-branch-name',
    'migration-in-progress',
    'git-missing',
    'git-busy',
    'git-failed',
    'repositories-unavailable',
  ],
  events: ['repository-created'],
});

export const updateRepository = operation({
  ...repositoryOperation,
  id: 'updateRepository',
  method: 'PATCH',
  path,
  summary: 'Update the repository of a project',
  description:
    'Omitted members keep their value. `protectedBranches: null` protects the default branch only. `deliveryRules` publish the newest commit of a branch in an environment, at once and after each push; the caller becomes the writer of all of them. To use another address, migrate the repository or associate the project anew.',
  permission: 'repository:manage',
  params: Type.Object(projectPath),
  headers: ifMatchHeader,
  body: Type.Object({
    repositoryName: Type.Optional(Name),
    defaultBranch: Type.Optional(BranchName),
    protectedBranches: Type.Optional(Type.Union([ProtectedBranches, Type.Null()])),
    providerParameters: Type.Optional(ProviderParameters),
    deliveryRules: Type.Optional(
      Type.Array(DeliveryRuleWrite, {
        maxItems: deliveryRuleLimit,
        uniqueItems: true,
        description: 'Replaces all rules; an empty array removes them',
      }),
    ),
  }),
  success: { status: 200, body: Repository, headers: ['ETag'] },
  problems: [
    'environment-not-found',
    'repository-not-found',
    'etag-mismatch',
    'invalid-branch-name',
    'repository-credential-refused',
    'migration-in-progress',
    'git-missing',
    'git-busy',
    'git-failed',
    'repositories-unavailable',
  ],
  events: ['repository-updated'],
});

export const deleteRepository = operation({
  ...repositoryOperation,
  id: 'deleteRepository',
  method: 'DELETE',
  path,
  summary: 'Remove the repository of a project',
  description:
    'Ends the association and deletes the stored token. A repository on another host is not touched. The data of a hosted one is kept for 30 days.',
  permission: 'repository:manage',
  params: Type.Object(projectPath),
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['repository-not-found', 'etag-mismatch', 'migration-in-progress'],
  events: ['repository-deleted'],
});

export const storeRepositoryToken = operation({
  ...repositoryOperation,
  id: 'storeRepositoryToken',
  method: 'POST',
  path: `${path}/token`,
  summary: 'Store another token for the repository',
  description: 'Replaces the stored token, and the enterprise OAuth connection if one was used.',
  permission: 'repository:manage',
  params: Type.Object(projectPath),
  headers: Type.Object({ 'Git-Provider-Access-Token': GitProviderToken }),
  success: { status: 204 },
  problems: ['repository-not-found', 'repository-credential-refused', 'migration-in-progress'],
  events: ['repository-token-stored'],
});

export const repositoryOperations = [
  listRepositories,
  createRepository,
  updateRepository,
  deleteRepository,
  storeRepositoryToken,
] as const;
