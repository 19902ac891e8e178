/** The move of a project's repository to another address. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, mapOf, Name, OpaqueId, oneOf, SeenDigest, Uuid } from '../primitives.ts';
import { projectPath } from '../project/project.ts';

export const migrationModes = ['MIRROR_PUSH', 'RECONFIGURE'] as const;
export type MigrationMode = (typeof migrationModes)[number];
export const migrationProviders = ['github', 'gitlab', 'azure-devops'] as const;
export type MigrationProvider = (typeof migrationProviders)[number];
export const migrationStatuses = ['IN_PROGRESS', 'COMPLETED', 'FAILED', 'UNKNOWN'] as const;
export type MigrationStatus = (typeof migrationStatuses)[number];
/** In their order. */
export const migrationPhases = [
  'QUEUED',
  'PREFLIGHT',
  'FETCHING',
  'LFS',
  'PUSHING',
  'VERIFYING',
  'SWITCHING',
] as const;
export type MigrationPhase = (typeof migrationPhases)[number];

/** Items of each list of a report. */
export const reportListLimit = 100;
export const migrationDetailLimit = 4_000;
const cloneUrlLimit = 2_048;
const Count = Type.Integer({ minimum: 0 });
const Code = Type.String({ maxLength: 100 });
const RefName = Type.String({ maxLength: 1_024 });
const Mode = oneOf(migrationModes, {
  description:
    'MIRROR_PUSH copies all branches and tags, then points the project at the target. RECONFIGURE only points the project at the target, which must have every branch',
});
const TargetProvider = oneOf(migrationProviders);
const TargetCloneUrl = Type.String({
  minLength: 1,
  maxLength: cloneUrlLimit,
  description: 'An http or https address without user and password',
});

export const MigrationFinding = named(
  'MigrationFinding',
  Type.Object({
    level: oneOf(['error', 'warning', 'info'], { description: 'An error stops the migration' }),
    code: Code,
    message: Type.String({ maxLength: 2_000, description: 'What was found, and what to do' }),
  }),
);
export type MigrationFinding = Static<typeof MigrationFinding>;

export const MigrationPreflight = named(
  'MigrationPreflight',
  Type.Object({
    canMigrate: Type.Boolean({ description: 'There is no finding of level error' }),
    digest: {
      ...SeenDigest,
      description:
        'Of the request, the findings and the refs of both repositories. A start that names it is refused if anything is different by then',
    },
    findings: Type.Array(MigrationFinding, { maxItems: reportListLimit }),
    sourceBranches: Type.Optional(Count),
    sourceTags: Type.Optional(Count),
    targetBranches: Type.Optional(Count),
    targetTags: Type.Optional(Count),
  }),
);
export type MigrationPreflight = Static<typeof MigrationPreflight>;

const MigrationPush = named(
  'MigrationPush',
  Type.Object({
    arrived: Count,
    arrivedRefs: Type.Array(RefName, { maxItems: reportListLimit }),
    refused: Count,
    refusedRefs: Type.Array(Type.Object({ name: RefName, reason: Type.String({ maxLength: 1_000 }) }), {
      maxItems: reportListLimit,
    }),
    notTried: Count,
    notTriedRefs: Type.Array(RefName, { maxItems: reportListLimit }),
  }),
);

export const MigrationReport = named(
  'MigrationReport',
  Type.Object({
    branches: Type.Integer({ minimum: 0, description: 'Branches of the source' }),
    tags: Type.Integer({ minimum: 0, description: 'Tags of the source' }),
    verifiedRefs: Type.Integer({
      minimum: 0,
      description: 'Branches and tags whose object in the target is the one of the source',
    }),
    objects: Type.Integer({ minimum: 0, description: 'Git objects of the source' }),
    bytes: Type.Integer({ minimum: 0, description: 'Bytes fetched and pushed, with those of LFS' }),
    lfsObjects: Count,
    lfsBytes: Count,
    durationMilliseconds: Count,
    pushedAtomically: Type.Optional(
      Type.Boolean({
        description: 'Whether the target took all refs at once, or in chunks. Absent without a push',
      }),
    ),
    push: Type.Optional({
      ...MigrationPush,
      description: `Of a push that failed: which branches and tags the target has, refused, and was never sent. Each list has at most ${reportListLimit} names. Absent if the target could not be asked`,
    }),
    skippedTotal: Count,
    skippedRefs: Type.Array(Type.Object({ name: RefName, reason: Type.String({ maxLength: 1_000 }) }), {
      maxItems: reportListLimit,
      description: `The first ${reportListLimit} refs of the source that were not copied`,
    }),
    findings: Type.Array(MigrationFinding, { maxItems: reportListLimit }),
  }),
);
export type MigrationReport = Static<typeof MigrationReport>;

const MigrationProgress = Type.Object({
  phase: oneOf(migrationPhases),
  percent: Type.Integer({ minimum: 0, maximum: 100 }),
  bytes: Count,
});

export const RepositoryMigration = named(
  'RepositoryMigration',
  Type.Object({
    migrationId: Uuid,
    status: oneOf(migrationStatuses, {
      description:
        'UNKNOWN: the server that worked on it is silent, and no other server has taken over yet; ask again',
    }),
    detail: Type.Optional(
      Type.String({
        maxLength: migrationDetailLimit,
        description: 'Why it failed and what to do, or what else to know',
      }),
    ),
    code: Type.Optional(Type.String({ maxLength: 100, description: 'The exact reason of a failure' })),
    mode: Mode,
    targetProvider: TargetProvider,
    targetName: Name,
    targetCloneUrl: TargetCloneUrl,
    progress: Type.Optional(MigrationProgress),
    report: Type.Optional(MigrationReport),
    requestedBy: Uuid,
    createdAt: DateTime,
    startedAt: Type.Optional(DateTime),
    endedAt: Type.Optional(DateTime),
  }),
);
export type RepositoryMigration = Static<typeof RepositoryMigration>;

const migrationOperation = {
  surface: 'dpc',
  tag: 'Repository migrations',
  permission: 'repository:manage',
} as const;

export const startRepositoryMigration = operation({
  ...migrationOperation,
  id: 'startRepositoryMigration',
  method: 'POST',
  path: '/v1/projects/{projectId}/repository-migration',
  summary: 'Start a repository migration',
  description:
    'Moves the repository of the project to another repository, which must exist. ' +
    'Until it has ended, other Git operations of the project are refused with 409. Read its status to see the end.\n\n' +
    'A `gitlab` target needs the token of a service account in `Git-Provider-Access-Token`. It is rotated at once, so it can be used for one start only. ' +
    'Other targets ignore this header: `targetEnterpriseOauthId` names an application that signs in, and a target of the same origin gets the present credential of the project.',
  params: Type.Object(projectPath),
  query: Type.Object({
    dryRun: Type.Optional(
      Type.Boolean({
        description:
          'Change nothing, check whether the migration can succeed, and return the findings with status 200. A token is neither rotated nor used up',
      }),
    ),
    overwrite: Type.Optional(
      Type.Boolean({
        description:
          'MIRROR_PUSH into a target that is not empty: overwrite its branches and tags of the same name. The others stay',
      }),
    ),
  }),
  headers: Type.Object({
    'Git-Provider-Access-Token': Type.Optional(
      Type.String({ minLength: 1, maxLength: 4_096, description: 'An access token for a `gitlab` target' }),
    ),
    'If-Match': Type.Optional(
      Type.String({ maxLength: 1_000, description: 'The same as `digest` in the body, in double quotes' }),
    ),
  }),
  body: Type.Object({
    digest: Type.Optional({
      ...SeenDigest,
      description:
        'The `digest` of a dry run. The start repeats the dry run, and is 412 if its digest is another one by now',
    }),
    mode: Mode,
    targetCloneUrl: TargetCloneUrl,
    targetProvider: TargetProvider,
    targetName: Name,
    targetEnterpriseOauthId: Type.Optional(
      Type.String({
        ...OpaqueId,
        description: 'The enterprise OAuth connection that signs in to the target',
      }),
    ),
    providerParameters: Type.Optional(
      mapOf(Type.String({ minLength: 1, maxLength: 1_024 }), {
        maxProperties: 20,
        description:
          'gitlab: `repositoryId`. azure-devops: `organization`, `repositoryId`, `tenantId`. What is omitted is read from `targetCloneUrl` where it can be',
      }),
    ),
  }),
  success: {
    status: 202,
    body: Type.Object({ migrationId: Uuid }),
    headers: ['Location'],
    dryRun: MigrationPreflight,
  },
  problems: [
    'repository-missing',
    'same-repository',
    'migration-in-progress',
    'provider-token-required',
    'provider-token-used',
    'provider-parameter-missing',
    'unknown-enterprise-oauth',
    'preflight-timeout',
    'git-missing',
    'digest-mismatch',
  ],
  events: ['repository-migration-started'],
});

export const getRepositoryMigration = operation({
  ...migrationOperation,
  id: 'getRepositoryMigration',
  method: 'GET',
  path: '/v1/projects/{projectId}/repository-migration/{migrationId}',
  summary: 'Get a repository migration',
  description: 'Repeat the request until `status` is neither IN_PROGRESS nor UNKNOWN.',
  params: Type.Object({ ...projectPath, migrationId: OpaqueId }),
  success: { status: 200, body: RepositoryMigration },
  problems: ['migration-not-found'],
  events: [],
});

export const repositoryMigrationOperations = [startRepositoryMigration, getRepositoryMigration] as const;
