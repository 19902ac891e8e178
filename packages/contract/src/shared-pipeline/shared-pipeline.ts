/**
 * Shared pipelines: groups of pipelines that every project of the account may run. interface.md E13–E14,
 * decisions.md, Artifacts.
 */
import { type Static, Type } from 'typebox';
import { strictQuery, UploadResult } from '../artifact/artifact-upload.ts';
import { assetNameLimitBytes } from '../artifact/asset-path.ts';
import { operation } from '../operation.ts';
import { DateTime, Name, pageOf, pageQuery, VersionName } from '../primitives.ts';

export const sharedPrefixLimit = 100;
/** Of one group in the list of groups; all of a version are in its details. */
export const listedSharedPipelineLimit = 100;

const newPrefix = Type.String({
  minLength: 1,
  maxLength: sharedPrefixLimit,
  pattern: '^(?! )[^\\u0000-\\u001f\\u007f/\\\\{}$]+(?<! )$',
  'x-form': 'a name without control characters, / \\ { } $ and without a space at its ends, such as Checks',
  description:
    'Names the group. It stands before the names of its pipelines, as in `Checks/Table is filled`, so it holds no slash',
});
const newVersionName = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^(?! )(?!\\[[Ll][Aa][Tt][Ee][Ss][Tt]\\]$)[^\\u0000-\\u001f\\u007f]+(?<! )$',
  'x-form':
    'a name without control characters and without a space at its ends, other than [Latest], such as 1.4.0',
  description:
    'Name of the version, without control characters; `[Latest]` stands for the newest enabled one',
});
/** In answers, and where a group is looked up: one that nobody can have published is 404. */
const Prefix = Name;

export const SharedArtifactDetails = Type.Object({
  branch: Type.Optional(Name),
  commitHash: Type.Optional(Name),
  createdAt: DateTime,
  enabled: Type.Boolean(),
  provider: Type.String({ maxLength: 50 }),
  sharedPipelineIdPrefix: Prefix,
  versionName: VersionName,
});
export type SharedArtifactDetails = Static<typeof SharedArtifactDetails>;

export const SharedPipeline = Type.Object({
  description: Type.String({
    maxLength: 1_000,
    description: 'The notes of the pipeline, from the beginning; empty without any',
  }),
  sharedPipelineId: Type.String({
    maxLength: 1_200,
    description: 'The prefix, a slash, the pipeline’s name',
  }),
  sourcePipeline: Type.String({
    maxLength: assetNameLimitBytes,
    description: 'Path of the pipeline in the version',
  }),
});
export type SharedPipeline = Static<typeof SharedPipeline>;

export const SharedPipelineGroup = Type.Object({
  sharedPipelineIdPrefix: Prefix,
  latestVersionName: Type.Optional(VersionName),
  sharedPipelineCount: Type.Integer({ minimum: 0 }),
  sharedPipelines: Type.Array(SharedPipeline, { maxItems: listedSharedPipelineLimit }),
});
export type SharedPipelineGroup = Static<typeof SharedPipelineGroup>;

const shared = { surface: 'dpc', tag: 'Shared pipelines' } as const;

export const createSharedPipelines = operation({
  ...shared,
  id: 'createSharedPipelines',
  method: 'POST',
  path: '/v1/shared-pipelines/artifacts',
  summary: 'Publish a version of a group of shared pipelines',
  description:
    'A multipart form, read as that of an artifact: one part a file, the part’s name its path. Every pipeline in it is shared. ' +
    'The version is enabled at once, and the latest of its group. ' +
    'A form without a pipeline that can be read is refused, since it would become the latest version of its group.',
  permission: 'agents:manage',
  query: strictQuery,
  headers: Type.Object({
    sharedPipelineIdPrefix: newPrefix,
    versionName: newVersionName,
    commitHash: Type.Optional(Name),
    branch: Type.Optional(Name),
  }),
  mediaType: 'multipart/form-data',
  success: {
    status: 201,
    body: UploadResult,
  },
  problems: [
    'shared-version-exists',
    'shared-version-without-pipeline',
    'invalid-upload',
    'invalid-asset-name',
    'strict-upload-refused',
  ],
  events: ['shared-pipelines-created'],
});

export const listSharedArtifacts = operation({
  ...shared,
  id: 'listSharedArtifacts',
  method: 'GET',
  path: '/v1/shared-pipelines/artifacts',
  summary: 'List the versions of shared pipelines, newest first',
  permission: 'agents:list',
  query: Type.Object({
    sharedPipelineIdPrefix: Type.Optional(Prefix),
    enabledOnly: Type.Boolean({ default: true }),
    ...pageQuery,
  }),
  success: { status: 200, body: pageOf(SharedArtifactDetails) },
  problems: [],
  events: [],
});

export const updateSharedArtifact = operation({
  ...shared,
  id: 'updateSharedArtifact',
  method: 'PATCH',
  path: '/v1/shared-pipelines/artifacts',
  summary: 'Enable or disable a version of shared pipelines',
  description:
    'A disabled version is chosen by no execution that starts from now on. Executions that have started keep the versions that they have.',
  permission: 'agents:manage',
  body: Type.Object({
    enabled: Type.Boolean(),
    sharedPipelineIdPrefix: Prefix,
    versionName: VersionName,
  }),
  success: { status: 200, body: Type.Object({ enabled: Type.Boolean(), versionName: VersionName }) },
  problems: ['shared-version-not-found'],
  events: ['shared-pipelines-updated'],
});

export const getSharedArtifact = operation({
  ...shared,
  id: 'getSharedArtifact',
  method: 'GET',
  path: '/v1/shared-pipelines/artifacts/details',
  summary: 'Read one version with its shared pipelines',
  description: 'Without `versionName`: the newest enabled one of the group.',
  permission: 'agents:list',
  query: Type.Object({ sharedPipelineIdPrefix: Prefix, versionName: Type.Optional(VersionName) }),
  success: {
    status: 200,
    body: Type.Object({
      artifactDetails: SharedArtifactDetails,
      sharedPipelines: Type.Array(SharedPipeline, { maxItems: 10_000 }),
    }),
  },
  problems: ['shared-version-not-found'],
  events: [],
});

export const listSharedPipelines = operation({
  ...shared,
  id: 'listSharedPipelines',
  method: 'GET',
  path: '/v1/shared-pipelines',
  summary: 'List the groups of shared pipelines by prefix, each with its latest version',
  description:
    `\`sharedPipelines\` holds the first ${listedSharedPipelineLimit} by name of \`sharedPipelineCount\`; the details of the version hold all. ` +
    'A group whose versions are all disabled has no `latestVersionName` and none of them.',
  permission: 'agents:list',
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(SharedPipelineGroup) },
  problems: [],
  events: [],
});

export const sharedPipelineOperations = [
  listSharedPipelines,
  createSharedPipelines,
  listSharedArtifacts,
  getSharedArtifact,
  updateSharedArtifact,
] as const;
