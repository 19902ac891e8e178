/**
 * Artifacts: versioned uploads of a project's files. interface.md E10–E12, decisions.md E10–E12 and §5
 * Artifacts.
 */
import { type Static, Type } from 'typebox';
import { operation } from './operation.ts';
import {
  DateTime,
  EnvironmentName,
  ifMatchHeader,
  Name,
  oneOf,
  pageOf,
  pageQuery,
  VersionName,
} from './primitives.ts';
import { projectPath } from './project.ts';

export const assetNameLimitBytes = 1_024;
/** Files of one version, and so paths in an answer. */
const assetLimit = 10_000;
/** Files below `.git/` that are listed one by one in the answer of an upload. */
export const listedGitResourceLimit = 1_000;
/** What the checks of an upload found, in one answer. */
export const uploadWarningLimit = 1_000;
export const uploadWarningMessageLimit = 1_000;

const AssetPath = Type.String({ maxLength: assetNameLimitBytes });
const AssetPaths = Type.Array(AssetPath, { maxItems: assetLimit });
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

export const IgnoredResource = Type.Object({
  name: Type.String({ maxLength: 1_024 }),
  reason: Type.String({ maxLength: 2_000 }),
});
export type IgnoredResource = Static<typeof IgnoredResource>;

const UploadWarning = Type.Object({
  path: AssetPath,
  line: Type.Integer({ minimum: 1 }),
  component: Type.Optional(Name),
  code: Type.String({ maxLength: 100, description: 'For instance unknown-component-type, missing-pipeline' }),
  level: oneOf(['error', 'warning'], {
    description:
      'error: a run that comes to it does not start; warning: it may fail, or do something unwanted',
  }),
  message: Type.String({ maxLength: uploadWarningMessageLimit }),
});
export type UploadWarning = Static<typeof UploadWarning>;

/** interface.md, Artifact creation result; with what is wrong with pipelines that were stored. */
export const UploadResult = Type.Object({
  ignoredResources: Type.Array(IgnoredResource, { maxItems: assetLimit + listedGitResourceLimit + 1 }),
  versionName: VersionName,
  warnings: Type.Array(UploadWarning, { maxItems: uploadWarningLimit }),
  warningsTotal: Type.Integer({ minimum: 0 }),
});

/** Of an upload that is to be refused when its pipelines have errors. */
export const strictQuery = Type.Object({
  strict: Type.Boolean({
    default: false,
    description:
      'Refuse the whole upload when a pipeline file cannot be read or has a finding of level error: nothing is stored',
  }),
});

export const createArtifact = operation({
  id: 'createArtifact',
  method: 'POST',
  path: '/v1/projects/{projectId}/artifacts',
  surface: 'dpc',
  tag: 'Artifacts',
  summary: "Upload a version of a project's files to an environment",
  description:
    'A multipart form with one part a file; the part’s name is the file’s path. The whole version becomes visible at once or not at all. ' +
    'Files that are not text, pipeline files that cannot be read, and files below `.git/` are listed in `ignoredResources`. ' +
    'A form of which no part is kept is refused. A pipeline file that cannot be read is an error in `warnings`, too. ' +
    'Pipelines that can be read but hold component types that agents do not know, or name a component, pipeline, file or variable ' +
    'that is not there, are stored, and listed in `warnings`, with files that look like pipelines but do not end in `.orch.yaml` or ' +
    `\`.tran.yaml\`: errors first, ${uploadWarningLimit} at most; \`warningsTotal\` counts all. ` +
    'A run of a pipeline that has errors is FAILED before its first step. With `strict=true` such an upload is refused. ' +
    'Limits by default: 10,000 parts, 5 MiB a part, 256 MiB a request; files below `.git/` count for the request only. ' +
    'A header that is not valid as it is may be URL-encoded: `My+Env` or `My%20Env` for `My Env`.',
  permission: 'environment:deliver',
  environmentFrom: 'headers.environmentName',
  params: Type.Object(projectPath),
  query: strictQuery,
  headers: Type.Object({
    environmentName: EnvironmentName,
    versionName: VersionName,
    commitHash: Type.Optional(Name),
    branch: Type.Optional(Name),
  }),
  mediaType: 'multipart/form-data',
  success: {
    status: 201,
    body: UploadResult,
  },
  problems: [
    'environment-not-found',
    'version-exists',
    'invalid-upload',
    'invalid-asset-name',
    'empty-upload',
    'strict-upload-refused',
  ],
  events: ['artifact-created'],
});

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
