/** Artifacts: versioned uploads of a project's files. interface.md E10–E12, decisions.md E10–E12. */
import { type Static, Type } from 'typebox';
import { operation } from './operation.ts';
import { DateTime, EnvironmentName, Name, pageOf, pageQuery, VersionName } from './primitives.ts';
import { projectPath } from './project.ts';

export const assetNameLimitBytes = 1_024;

/** interface.md, Artifact details item. */
export const ArtifactDetails = Type.Object({
  branch: Type.Optional(Name),
  commitHash: Type.Optional(Name),
  createdAt: DateTime,
  deployedAt: DateTime,
  enabled: Type.Boolean(),
  provider: Type.String({ maxLength: 50 }),
  versionName: VersionName,
});
export type ArtifactDetails = Static<typeof ArtifactDetails>;

export const IgnoredResource = Type.Object({
  name: Type.String({ maxLength: 1_024 }),
  reason: Type.String({ maxLength: 2_000 }),
});
export type IgnoredResource = Static<typeof IgnoredResource>;

export const createArtifact = operation({
  id: 'createArtifact',
  method: 'POST',
  path: '/v1/projects/{projectId}/artifacts',
  surface: 'dpc',
  tag: 'Artifacts',
  summary: "Upload a version of a project's files to an environment (E10)",
  description:
    'A multipart form with one part a file; the part’s name is the file’s path. The whole version becomes visible at once or not at all. ' +
    'Files that are not text, and pipeline files that cannot be read, are listed in `ignoredResources`. ' +
    'Limits by default: 10,000 parts, 5 MiB a part, 256 MiB a request.',
  permission: 'environment:deliver',
  params: Type.Object(projectPath),
  headers: Type.Object({
    environmentname: EnvironmentName,
    versionname: VersionName,
    commithash: Type.Optional(Name),
    branch: Type.Optional(Name),
  }),
  mediaType: 'multipart/form-data',
  success: {
    status: 201,
    body: Type.Object({
      ignoredResources: Type.Array(IgnoredResource, { maxItems: 10_000 }),
      versionName: VersionName,
    }),
  },
  problems: ['environment-not-found', 'version-exists', 'invalid-upload', 'invalid-asset-name'],
  events: ['artifact-created'],
});

export const listArtifacts = operation({
  id: 'listArtifacts',
  method: 'GET',
  path: '/v1/projects/{projectId}/artifacts',
  surface: 'dpc',
  tag: 'Artifacts',
  summary: 'List the versions in an environment, newest first (E11)',
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
  summary: 'Read one version with the paths of its files (E12)',
  description: 'Without `versionName`: the newest enabled one in the environment.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({ environmentName: EnvironmentName, versionName: Type.Optional(VersionName) }),
  success: {
    status: 200,
    body: Type.Object({
      assets: Type.Array(Type.String({ maxLength: assetNameLimitBytes }), { maxItems: 10_000 }),
      details: ArtifactDetails,
    }),
  },
  problems: ['environment-not-found', 'artifact-not-found'],
  events: [],
});
