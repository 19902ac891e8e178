/** Uploads of a version's files: interface.md E10, decisions.md E10. */
import { type Static, Type } from 'typebox';
import { operation } from '../operation.ts';
import { EnvironmentName, Name, oneOf, VersionName } from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { AssetPath, assetLimit } from './asset-path.ts';

/** Files below `.git/` that are listed one by one in the answer of an upload. */
export const listedGitResourceLimit = 1_000;
/** What the checks of an upload found, in one answer. */
export const uploadWarningLimit = 1_000;
export const uploadWarningMessageLimit = 1_000;

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

export const artifactUploadOperations = [createArtifact] as const;
