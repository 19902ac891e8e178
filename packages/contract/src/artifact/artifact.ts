/**
 * Artifacts: versioned uploads of a project's files. interface.md E10–E12, decisions.md E10–E12 and §5
 * Artifacts.
 */
import { type Static, Type } from 'typebox';
import { operation } from '../operation.ts';
import {
  DateTime,
  EnvironmentName,
  ifMatchHeader,
  Name,
  pageOf,
  pageQuery,
  VersionName,
} from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { AssetPaths, assetNameLimitBytes } from './asset-path.ts';

const Digest = Type.String({ maxLength: 64, description: 'SHA-256 of the list of its files' });

/** interface.md, Artifact details item. */
export const ArtifactDetails = Type.Object({
  branch: Type.Optional(Name),
  commitHash: Type.Optional(Name),
  createdAt: DateTime,
  deployedAt: DateTime,
  enabled: Type.Boolean(),
  promotedFrom: Type.Optional(
    Type.Object(
      {
        environmentName: EnvironmentName,
        promotedAt: DateTime,
        promotedBy: Type.String({ maxLength: 100, description: 'Id of the caller' }),
      },
      { description: 'Absent in the environment to which the version was uploaded' },
    ),
  ),
  provider: Type.String({ maxLength: 50 }),
  versionName: VersionName,
});
export type ArtifactDetails = Static<typeof ArtifactDetails>;

export const listArtifacts = operation({
  id: 'listArtifacts',
  method: 'GET',
  path: '/v1/projects/{projectId}/artifacts',
  surface: 'dpc',
  tag: 'Artifacts',
  summary: 'List the versions in an environment, newest first',
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
  id: 'getArtifact',
  method: 'GET',
  path: '/v1/projects/{projectId}/artifacts/details',
  surface: 'dpc',
  tag: 'Artifacts',
  summary: 'Read one version with the paths of its files',
  description: 'Without `versionName`: the newest enabled one in the environment.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({ environmentName: EnvironmentName, versionName: Type.Optional(VersionName) }),
  success: {
    status: 200,
    body: Type.Object({ assets: AssetPaths, details: ArtifactDetails }),
    headers: ['ETag'],
  },
  problems: ['environment-not-found', 'artifact-not-found'],
  events: [],
});

export const enableArtifact = operation({
  id: 'enableArtifact',
  method: 'PATCH',
  path: '/v1/projects/{projectId}/artifacts',
  surface: 'dpc',
  tag: 'Artifacts',
  summary: 'Enable or disable a version in an environment',
  description:
    'Nothing new is started with a disabled version, and nobody who names no version gets it. Executions that run keep the version that ' +
    'they began with.',
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

export const promoteArtifact = operation({
  id: 'promoteArtifact',
  method: 'POST',
  path: '/v1/projects/{projectId}/artifacts/promotions',
  surface: 'dpc',
  tag: 'Artifacts',
  summary: 'Copy a version to another environment, without a new upload',
  description:
    'The same files under the same name, enabled in the target; `createdAt`, `branch`, `commitHash` and `provider` stay those of the ' +
    'upload, `deployedAt` is now. The right is needed in the target; in the source, to read the project or to deliver there. ' +
    'A version that is disabled in the source is not promoted.',
  permission: 'environment:deliver',
  environmentFrom: 'body.targetEnvironmentName',
  params: Type.Object(projectPath),
  body: Type.Object({
    versionName: VersionName,
    sourceEnvironmentName: EnvironmentName,
    targetEnvironmentName: EnvironmentName,
  }),
  success: {
    status: 201,
    body: Type.Object({ environmentName: EnvironmentName, versionName: VersionName }),
  },
  problems: [
    'environment-not-found',
    'artifact-not-found',
    'artifact-disabled',
    'version-exists',
    'promotion-to-itself',
  ],
  events: ['artifact-promoted'],
});

export const compareArtifacts = operation({
  id: 'compareArtifacts',
  method: 'GET',
  path: '/v1/projects/{projectId}/artifacts/compare',
  surface: 'dpc',
  tag: 'Artifacts',
  summary: 'Compare the files of two versions',
  description:
    'What `versionName` in `environmentName` adds, removes and changes in relation to `againstVersionName` in `againstEnvironmentName`, ' +
    'which is the base. The two digests are equal when nothing differs.',
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
    body: Type.Object({
      added: AssetPaths,
      removed: AssetPaths,
      changed: AssetPaths,
      digest: Digest,
      againstDigest: Digest,
    }),
  },
  problems: ['environment-not-found', 'artifact-not-found'],
  events: [],
});

export const getAsset = operation({
  id: 'getAsset',
  method: 'GET',
  path: '/v1/projects/{projectId}/artifacts/assets',
  surface: 'dpc',
  tag: 'Artifacts',
  summary: 'Read one file of a version, as it came',
  description:
    'The bytes as they were uploaded, sent as a download. Without `versionName`: of the newest enabled version in the environment. The ' +
    'ETag is the SHA-256 of the bytes.',
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

export const PublishedPipeline = Type.Object({
  name: Type.String({ maxLength: assetNameLimitBytes, description: 'Its path with its extension' }),
  publishedTime: DateTime,
});
export type PublishedPipeline = Static<typeof PublishedPipeline>;

export const listPublishedPipelines = operation({
  id: 'listPublishedPipelines',
  method: 'GET',
  path: '/v1/projects/{projectId}/published-pipelines',
  surface: 'dpc',
  tag: 'Artifacts',
  summary: 'List the pipelines that can be started in an environment, by name',
  description:
    'Those of the newest enabled version, which a start without `versionName` takes; none when there is no such version.',
  permission: 'project:read',
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
