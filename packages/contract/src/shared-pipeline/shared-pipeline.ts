/** Shared pipelines: groups of pipelines that every project of the account may run. */
import { type Static, Type } from 'typebox';
import { commitHeaders, uploadOperation } from '../artifact/artifact-upload.ts';
import { assetNameLimitBytes } from '../artifact/asset-path.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, Name, pageOf, pageQuery, VersionName } from '../primitives.ts';

export const sharedPrefixLimit = 100;
/** Of one group in the list of groups; all of a version are in its details. */
export const listedSharedPipelineLimit = 100;

const newPrefix = Type.String({
  minLength: 1,
  maxLength: sharedPrefixLimit,
  pattern: '^(?! )[^\\u0000-\\u001f\\u007f/\\\\{}$]+(?<! )$',
  'x-form':
    'a name without control characters, / \\ { } $ and without leading or trailing spaces, such as Checks',
  description:
    'The name of the group. It is the prefix of the names of its pipelines, as in `Checks/Table is filled`, so it cannot contain a slash',
});
const newVersionName = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^(?! )(?!\\[[Ll][Aa][Tt][Ee][Ss][Tt]\\]$)[^\\u0000-\\u001f\\u007f]+(?<! )$',
  'x-form':
    'a name without control characters and without leading or trailing spaces, other than [Latest], such as 1.4.0',
  description:
    'The name of the version, without control characters. `[Latest]` is reserved: it means the newest enabled version',
});
/** In responses and queries. A prefix that cannot exist is 404, not 400. */
const Prefix = Name;

export const SharedArtifactDetails = named(
  'SharedArtifactDetails',
  Type.Object({
    branch: Type.Optional(Name),
    commitHash: Type.Optional(Name),
    createdAt: DateTime,
    enabled: Type.Boolean(),
    provider: Type.String({ maxLength: 50 }),
    sharedPipelineIdPrefix: Prefix,
    versionName: VersionName,
  }),
);
export type SharedArtifactDetails = Static<typeof SharedArtifactDetails>;

export const SharedPipeline = named(
  'SharedPipeline',
  Type.Object({
    description: Type.String({
      maxLength: 1_000,
      description: 'The beginning of the notes of the pipeline. Empty if it has none',
    }),
    sharedPipelineId: Type.String({
      maxLength: 1_200,
      description: 'The prefix, a slash and the name of the pipeline',
    }),
    sourcePipeline: Type.String({
      maxLength: assetNameLimitBytes,
      description: 'The path of the pipeline file in the version',
    }),
  }),
);
export type SharedPipeline = Static<typeof SharedPipeline>;

export const SharedPipelineGroup = named(
  'SharedPipelineGroup',
  Type.Object({
    sharedPipelineIdPrefix: Prefix,
    latestVersionName: Type.Optional(VersionName),
    sharedPipelineCount: Type.Integer({ minimum: 0 }),
    sharedPipelines: Type.Array(SharedPipeline, { maxItems: listedSharedPipelineLimit }),
  }),
);
export type SharedPipelineGroup = Static<typeof SharedPipelineGroup>;

const shared = { surface: 'dpc', tag: 'Shared pipelines' } as const;

export const createSharedPipelines = operation({
  ...shared,
  ...uploadOperation,
  id: 'createSharedPipelines',
  method: 'POST',
  path: '/v1/shared-pipelines/artifacts',
  summary: 'Publish shared pipelines',
  description:
    'Publishes a version of a group of shared pipelines. Send a multipart form as for an artifact: one part for each file, whose name is the path of the file. Every pipeline in it is shared. ' +
    'The version is enabled immediately, and is the latest of its group. A form without a pipeline that can be read is refused.',
  permission: 'agents:manage',
  headers: Type.Object({
    sharedPipelineIdPrefix: newPrefix,
    versionName: newVersionName,
    ...commitHeaders,
  }),
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
  summary: 'List versions of shared pipelines',
  description: 'Newest first.',
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
    'A disabled version is not used by executions that start later. Executions that have started keep their versions.',
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
  summary: 'Get a version of shared pipelines',
  description:
    'Contains the pipelines of the version. Without `versionName`, returns the newest enabled version of the group.',
  permission: 'agents:list',
  query: Type.Object({ sharedPipelineIdPrefix: Prefix, versionName: Type.Optional(VersionName) }),
  success: {
    status: 200,
    body: named(
      'SharedArtifact',
      Type.Object({
        artifactDetails: SharedArtifactDetails,
        sharedPipelines: Type.Array(SharedPipeline, { maxItems: 10_000 }),
      }),
    ),
  },
  problems: ['shared-version-not-found'],
  events: [],
});

export const listSharedPipelines = operation({
  ...shared,
  id: 'listSharedPipelines',
  method: 'GET',
  path: '/v1/shared-pipelines',
  summary: 'List shared pipelines',
  description:
    `The groups by prefix, each with its latest enabled version. \`sharedPipelines\` has the first ${listedSharedPipelineLimit} pipelines by name, and \`sharedPipelineCount\` is the number of all; ` +
    'get the version for the complete list. A group without an enabled version has neither `latestVersionName` nor pipelines.',
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
