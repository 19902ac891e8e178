/** Artifacts: versioned uploads of a project's files. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import {
  DateTime,
  EnvironmentName,
  ifMatchHeader,
  Name,
  pageOf,
  pageQuery,
  SeenDigest,
  seenHeader,
  VersionName,
} from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { AssetPaths, assetNameLimitBytes, Digest } from './asset-path.ts';

export const ArtifactDetails = named(
  'ArtifactDetails',
  Type.Object({
    branch: Type.Optional(Name),
    commitHash: Type.Optional(Name),
    createdAt: DateTime,
    deployedAt: DateTime,
    digest: Digest,
    enabled: Type.Boolean(),
    promotedFrom: Type.Optional(
      Type.Object(
        {
          environmentName: EnvironmentName,
          promotedAt: DateTime,
          promotedBy: Type.String({ maxLength: 100, description: 'The id of the caller' }),
        },
        { description: 'Absent if the version was uploaded to this environment' },
      ),
    ),
    provider: Type.String({ maxLength: 50 }),
    versionName: VersionName,
  }),
);
export type ArtifactDetails = Static<typeof ArtifactDetails>;

const artifactOperation = { surface: 'dpc', tag: 'Artifacts' } as const;

export const listArtifacts = operation({
  ...artifactOperation,
  id: 'listArtifacts',
  method: 'GET',
  path: '/v1/projects/{projectId}/artifacts',
  summary: 'List artifact versions',
  description: 'The versions in an environment, newest first.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({
    environmentName: EnvironmentName,
    enabledOnly: Type.Boolean({ default: true }),
    ...pageQuery,
  }),
  success: { status: 200, body: pageOf(ArtifactDetails) },
  problems: ['environment-not-found'],
  events: [],
});

export const getArtifact = operation({
  ...artifactOperation,
  id: 'getArtifact',
  method: 'GET',
  path: '/v1/projects/{projectId}/artifacts/details',
  summary: 'Get an artifact version',
  description:
    'Contains the paths of the files. Without `versionName`, returns the newest enabled version in the environment.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({ environmentName: EnvironmentName, versionName: Type.Optional(VersionName) }),
  success: {
    status: 200,
    body: named('Artifact', Type.Object({ assets: AssetPaths, details: ArtifactDetails })),
    headers: ['ETag'],
  },
  problems: ['environment-not-found', 'artifact-not-found'],
  events: [],
});

export const enableArtifact = operation({
  ...artifactOperation,
  id: 'enableArtifact',
  method: 'PATCH',
  path: '/v1/projects/{projectId}/artifacts',
  summary: 'Enable or disable an artifact version',
  description:
    'A disabled version cannot be started, and is skipped where the newest version is used by default. Running executions keep their version.',
  permission: 'environment:deliver',
  environmentFrom: 'body.environmentName',
  params: Type.Object(projectPath),
  headers: ifMatchHeader,
  body: Type.Object({
    environmentName: EnvironmentName,
    versionName: VersionName,
    enabled: Type.Boolean(),
  }),
  success: {
    status: 200,
    body: Type.Object({
      environmentName: EnvironmentName,
      versionName: VersionName,
      enabled: Type.Boolean(),
    }),
    headers: ['ETag'],
  },
  problems: ['environment-not-found', 'artifact-not-found', 'etag-mismatch'],
  events: ['artifact-updated'],
});

export const lostColumnsLimit = 1_000;
/** Readers that one lost column lists. */
export const lostColumnReadersLimit = 100;

const PromotionDryRun = named(
  'PromotionDryRun',
  Type.Object({
    environmentName: EnvironmentName,
    versionName: VersionName,
    comparedPipelines: Type.Integer({
      minimum: 0,
      description:
        'The pipelines whose latest successful run in the source environment was of this version. What the others write is not known: with 0, nothing was compared',
    }),
    notCompared: Type.Object(
      {
        neverRun: Type.Integer({
          minimum: 0,
          description: 'Pipelines of the version without a successful run in the source environment',
        }),
        otherVersion: Type.Integer({
          minimum: 0,
          description:
            'Pipelines of the version whose latest successful run in the source environment was of another version',
        }),
        unknownColumns: Type.Integer({
          minimum: 0,
          description: 'Datasets that the version writes, of which its runs did not tell the columns',
        }),
        unknownReaders: Type.Integer({
          minimum: 0,
          description:
            'Pipelines that read a compared dataset, of which it is not known which columns they read',
        }),
      },
      { description: 'What the comparison leaves out, by the reason' },
    ),
    lostColumns: Type.Array(
      Type.Object({
        dataset: Type.String({ minLength: 1, maxLength: 1_000 }),
        column: Type.String({ minLength: 1, maxLength: 1_000 }),
        readers: Type.Array(Type.String({ maxLength: 1_200 }), {
          maxItems: lostColumnReadersLimit,
          description: `The pipelines that read the column: the first ${lostColumnReadersLimit}, sorted`,
        }),
      }),
      {
        maxItems: lostColumnsLimit,
        description:
          'Columns that pipelines in the target environment read, and that the version does not write',
      },
    ),
    truncated: Type.Boolean({
      description: 'There are more lost columns, or more uses of columns than are compared',
    }),
  }),
);
export type PromotionDryRun = Static<typeof PromotionDryRun>;

export const promoteArtifact = operation({
  ...artifactOperation,
  id: 'promoteArtifact',
  method: 'POST',
  path: '/v1/projects/{projectId}/artifacts/promotions',
  summary: 'Promote an artifact version',
  description:
    'Copies the version to another environment without another upload, and enables it there. `createdAt`, `branch`, `commitHash` and `provider` are those of the ' +
    'upload; `deployedAt` is the time of the promotion. The caller needs the permission in the target environment, and permission to read the project or to publish in the source environment. ' +
    'A disabled version cannot be promoted. If the `qualityGate` of the target environment is REQUIRED, the quality review of the version must be PASSED; with WARN, `Headgate-Warning` says if it is not. `digest`, or `If-Match` with it or with the ETag of the version in the source environment, makes the response 412 if the version is another one by now. ' +
    '`dryRun=true` answers as the promotion would, refusals too, promotes nothing, and lists the columns that readers in the target environment lose.',
  permission: 'environment:deliver',
  environmentFrom: 'body.targetEnvironmentName',
  params: Type.Object(projectPath),
  query: Type.Object({
    dryRun: Type.Optional(
      Type.Boolean({ description: 'Promote nothing, and return what the promotion breaks, with status 200' }),
    ),
  }),
  headers: seenHeader,
  body: Type.Object({
    digest: Type.Optional({ ...SeenDigest, description: 'The `digest` of the version as it was seen' }),
    versionName: VersionName,
    sourceEnvironmentName: EnvironmentName,
    targetEnvironmentName: EnvironmentName,
  }),
  success: {
    status: 201,
    body: Type.Object({ environmentName: EnvironmentName, versionName: VersionName }),
    dryRun: PromotionDryRun,
  },
  problems: [
    'environment-not-found',
    'artifact-not-found',
    'artifact-disabled',
    'version-exists',
    'promotion-to-itself',
    'digest-mismatch',
    'quality-gate-refused',
    'review-too-large',
  ],
  events: ['artifact-promoted'],
});

export const compareArtifacts = operation({
  ...artifactOperation,
  id: 'compareArtifacts',
  method: 'GET',
  path: '/v1/projects/{projectId}/artifacts/compare',
  summary: 'Compare two artifact versions',
  description:
    'Returns what `versionName` in `environmentName` adds, removes and changes compared with `againstVersionName` in `againstEnvironmentName`. ' +
    'If the files are the same, the two digests are equal.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({
    environmentName: EnvironmentName,
    versionName: VersionName,
    againstEnvironmentName: EnvironmentName,
    againstVersionName: VersionName,
  }),
  success: {
    status: 200,
    body: named(
      'ArtifactComparison',
      Type.Object({
        added: AssetPaths,
        removed: AssetPaths,
        changed: AssetPaths,
        digest: Digest,
        againstDigest: Digest,
      }),
    ),
  },
  problems: ['environment-not-found', 'artifact-not-found'],
  events: [],
});

export const getAsset = operation({
  ...artifactOperation,
  id: 'getAsset',
  method: 'GET',
  path: '/v1/projects/{projectId}/artifacts/assets',
  summary: 'Download a file of an artifact version',
  description:
    'Returns the bytes that were uploaded. Without `versionName`, uses the newest enabled version in the environment. The ETag is the SHA-256 of the bytes.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({
    environmentName: EnvironmentName,
    versionName: Type.Optional(VersionName),
    path: Type.String({ minLength: 1, maxLength: assetNameLimitBytes }),
  }),
  success: { status: 200, mediaType: 'text/plain', headers: ['ETag'], conditional: true },
  problems: ['environment-not-found', 'artifact-not-found', 'asset-not-found'],
  events: [],
});

export const PublishedPipeline = named(
  'PublishedPipeline',
  Type.Object({
    name: Type.String({
      maxLength: assetNameLimitBytes,
      description: 'The path of the pipeline file, with its extension',
    }),
    publishedTime: DateTime,
  }),
);
export type PublishedPipeline = Static<typeof PublishedPipeline>;

export const listPublishedPipelines = operation({
  ...artifactOperation,
  id: 'listPublishedPipelines',
  method: 'GET',
  path: '/v1/projects/{projectId}/published-pipelines',
  summary: 'List published pipelines',
  description:
    'The pipelines of the newest enabled version, sorted by name: those that can be started without a `versionName`. Empty if there is no enabled version.',
  permission: 'executions:read',
  environmentFrom: 'query.environmentName',
  params: Type.Object(projectPath),
  query: Type.Object({ environmentName: EnvironmentName, ...pageQuery }),
  success: { status: 200, body: pageOf(PublishedPipeline) },
  problems: ['environment-not-found'],
  events: [],
});

export const artifactOperations = [
  listArtifacts,
  getArtifact,
  listPublishedPipelines,
  enableArtifact,
  promoteArtifact,
  compareArtifacts,
  getAsset,
] as const;
