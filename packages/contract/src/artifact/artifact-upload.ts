/** Uploads of a version's files. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { EnvironmentName, Name, oneOf, VersionName } from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { AssetPath, AssetPaths, assetLimit, Digest } from './asset-path.ts';

/** Files below `.git/` that are listed one by one in the answer of an upload. */
export const listedGitResourceLimit = 1_000;
/** What the checks of an upload found, in one answer. */
export const uploadWarningLimit = 1_000;
export const uploadWarningMessageLimit = 1_000;

export const IgnoredResource = named(
  'IgnoredResource',
  Type.Object({
    name: Type.String({ maxLength: 1_024 }),
    reason: Type.String({ maxLength: 2_000 }),
  }),
);
export type IgnoredResource = Static<typeof IgnoredResource>;

export const UploadWarning = named(
  'UploadWarning',
  Type.Object({
    path: AssetPath,
    line: Type.Integer({ minimum: 1 }),
    component: Type.Optional(Name),
    code: Type.String({
      maxLength: 100,
      description: 'For example unknown-component-type or missing-pipeline',
    }),
    level: oneOf(['error', 'warning'], {
      description:
        'error: a pipeline that reaches it does not start. warning: a run can fail or have an unwanted effect',
    }),
    message: Type.String({ maxLength: uploadWarningMessageLimit }),
  }),
);
export type UploadWarning = Static<typeof UploadWarning>;

/** The result of an upload, with what is wrong with pipelines that were stored. */
export const UploadResult = named(
  'UploadResult',
  Type.Object({
    ignoredResources: Type.Array(IgnoredResource, { maxItems: assetLimit + listedGitResourceLimit + 1 }),
    versionName: VersionName,
    warnings: Type.Array(UploadWarning, { maxItems: uploadWarningLimit }),
    warningsTotal: Type.Integer({ minimum: 0 }),
  }),
);

/** What an upload would publish. */
const UploadDryRun = named(
  'UploadDryRun',
  Type.Object({
    ...UploadResult.properties,
    digest: Digest,
    assets: { ...AssetPaths, description: 'The files of the version that would be published' },
  }),
);

/** What every upload of pipeline files declares. */
export const uploadOperation = {
  query: Type.Object({
    strict: Type.Boolean({
      default: false,
      description: 'Refuse the upload if a pipeline file cannot be read or has an error',
    }),
  }),
  mediaType: 'multipart/form-data',
  success: { status: 201, body: UploadResult },
} as const;

/** The headers that say from which commit an upload comes. */
export const commitHeaders = { commitHash: Type.Optional(Name), branch: Type.Optional(Name) };

export const createArtifact = operation({
  ...uploadOperation,
  query: Type.Object({
    ...uploadOperation.query.properties,
    dryRun: Type.Optional(
      Type.Boolean({
        description: 'Publish and store nothing, and return what would be published, with status 200',
      }),
    ),
  }),
  success: { ...uploadOperation.success, dryRun: UploadDryRun },
  id: 'createArtifact',
  method: 'POST',
  path: '/v1/projects/{projectId}/artifacts',
  surface: 'dpc',
  tag: 'Artifacts',
  summary: 'Publish an artifact version',
  description:
    'Send a multipart form with one part for each file. The name of a part is the path of its file. The version is stored completely or not at all. ' +
    '`ignoredResources` lists the files that are not stored: files that are not text, pipeline files and connector profiles that cannot be read, and files in `.git/`. ' +
    'A part named `connector-profile:flex-{alternateId}.json` or `connector-profile:custom-{id}.json` is a connector profile of the version. ' +
    'A form without any file to store is refused. `warnings` lists pipeline files and connector profiles that cannot be read, pipelines that have component types that agents do not support or that name ' +
    'a missing component, pipeline, file or variable, and files that look like pipelines but do not end in `.orch.yaml` or `.tran.yaml`. ' +
    `It has up to ${uploadWarningLimit.toLocaleString('en')} items, errors first; \`warningsTotal\` is the number of all. ` +
    'An execution of a pipeline that has errors fails before its first step. With `strict=true`, an upload that has errors is refused. ' +
    'If the `qualityGate` of the environment is REQUIRED, the quality review of the version must be PASSED; with WARN, `warnings` has its errors. ' +
    '`dryRun=true` answers as the upload would, refusals too, and publishes nothing. ' +
    'A version has all files of the project: `Headgate-Warning` says so if the upload has fewer than half of the pipelines of the newest version, or only a part named `file`. ' +
    'By default, an upload can have 10,000 parts, 5 MiB in each part and 256 MiB in total; files in `.git/` count only towards the total. ' +
    'The names, variables, descriptions and lists of used pipelines of all its pipelines may have 8 MiB of JSON. ' +
    'URL-encode the values of headers that have other characters than HTTP allows: `My+Env` or `My%20Env` for `My Env`.',
  permission: 'environment:deliver',
  environmentFrom: 'headers.environmentName',
  params: Type.Object(projectPath),
  headers: Type.Object({ environmentName: EnvironmentName, versionName: VersionName, ...commitHeaders }),
  problems: [
    'environment-not-found',
    'version-exists',
    'invalid-upload',
    'invalid-asset-name',
    'empty-upload',
    'strict-upload-refused',
    'quality-gate-refused',
    'review-too-large',
  ],
  events: ['artifact-created'],
});

export const artifactUploadOperations = [createArtifact] as const;
