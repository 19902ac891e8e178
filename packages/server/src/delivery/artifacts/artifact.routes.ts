import { compareArtifacts, createArtifact, getArtifact, getAsset, listArtifacts } from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Answered } from '../../kernel/endpoint/call.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { warningHeader } from '../../kernel/http/ignored-members.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { renderJson } from '../../kernel/http/render-json.ts';
import { type Blobs, type BlobWriter, createDiscardingWriter } from '../blobs/index.ts';
import { createRetainedFiles, type Reviewer } from '../quality-rules/index.ts';
import {
  createVersionProblem,
  environmentToUploadTo,
  fileOfVersion,
  isVersion,
  presentVersion,
  renderVersionEtag,
  versionInEnvironment,
  versionPage,
  versionWithPaths,
} from './artifact.store.ts';
import { comparisonOfVersions } from './comparison.store.ts';
import { addGateErrors, judgeReferences, listNamesBy, publishVersion } from './publication.ts';
import { publishedPipelineRoutes } from './published-pipeline.routes.ts';
import { type Checked, createPipelineChecks } from './reading/pipeline-checks.ts';
import type { PipelineReader } from './reading/pipeline-reader.ts';
import { requireFiles, requireNoErrors } from './strict-upload.ts';
import type { Upload } from './upload/collection.ts';
import { readUpload, type UploadLimits } from './upload/upload.ts';
import { findUploadWarning } from './upload-warnings.ts';
import { type VersionStateServices, versionStateRoutes } from './version-state.routes.ts';

export interface UploadServices extends VersionStateServices {
  review: Reviewer;
  blobs: Blobs;
  readPipeline: PipelineReader;
  config: { upload: UploadLimits };
}

export function artifactRoutes(endpoints: Endpoints, store: UploadServices): void {
  uploadRoute(endpoints, store);
  readingRoutes(endpoints);
  publishedPipelineRoutes(endpoints);
  versionStateRoutes(endpoints, store);
  assetRoute(endpoints, store.blobs);
}

function uploadRoute({ long }: Endpoints, store: UploadServices): void {
  long(createArtifact, async ({ rows, write, request, params, query, headers, scope, now }) => {
    const name = headers.environmentName;
    const found = await rows(environmentToUploadTo, { environment_name: name });
    const environment = requireRow(found, () => problem('environment-not-found', { name }));
    const { newest_manifest: base, ...gate } = environment;
    const { accountId } = scope;
    const { projectId } = params;
    const read = async (writer: BlobWriter) => {
      const reviewed = gate.quality_gate === 'NONE' ? undefined : createRetainedFiles();
      const checks = createPipelineChecks(store.readPipeline, accountId);
      const upload = await readUpload(request.raw, store.config.upload, writer, checks, reviewed?.retain);
      const [judged, warning] = await Promise.all([
        judgeReferences(listNamesBy(rows), checks, upload),
        findUploadWarning(rows, base, upload),
      ]);
      const place = { accountId, projectId, environmentName: name, versionName: headers.versionName };
      const checked = await addGateErrors(store.review, { ...place, gate }, reviewed, judged);
      return { upload, checked, warning: warning === undefined ? {} : { warning } };
    };
    if (query.dryRun) {
      const { upload, checked, warning } = await read(createDiscardingWriter());
      const { versionName } = headers;
      const [there] = await rows(versionInEnvironment, { environment_name: name, version_name: versionName });
      if (there !== undefined) throw problem('version-exists', { versionName, environmentName: name });
      return describeDryRun({ versionName, upload, checked, isStrict: query.strict }, warning);
    }
    return store.blobs.writeBlobs(scope.accountId, base, async (writer) => {
      const { upload, checked, warning } = await read(writer);
      const version = {
        projectId,
        environmentName: name,
        versionName: headers.versionName,
        branch: headers.branch ?? null,
        commitHash: headers.commitHash ?? null,
      };
      const content = JSON.stringify([version, upload.manifest.digest, upload.ignored, query.strict]);
      return write(content, async (tx) => {
        const publication = { version, upload, checked, gate, isStrict: query.strict };
        return { ...(await publishVersion(tx, scope, publication, now)), ...warning };
      });
    });
  });
}

function readingRoutes({ read }: Endpoints): void {
  read(listArtifacts, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const name = query.environmentName;
    const { rows, total } = await page(versionPage, {
      environment_name: name,
      enabled_only: query.enabledOnly,
      limit,
      offset,
    });
    if (total === null) throw problem('environment-not-found', { name });
    return { body: { page: query.page, results: rows.map(presentVersion), size: limit, total } };
  });

  read(getArtifact, async ({ query, rows }) => {
    const name = query.environmentName;
    const found = await rows(versionWithPaths, {
      environment_name: name,
      version_name: query.versionName ?? null,
    });
    const row = requireRow(found, () => problem('environment-not-found', { name }));
    if (!isVersion(row)) throw createVersionProblem(name, query.versionName);
    return { body: { assets: row.paths ?? [], details: presentVersion(row) }, etag: renderVersionEtag(row) };
  });

  read(compareArtifacts, async ({ query, rows }) => {
    const { environmentName, versionName, againstEnvironmentName, againstVersionName } = query;
    const found = await rows(comparisonOfVersions, {
      environment_name: environmentName,
      version_name: versionName,
      base_environment_name: againstEnvironmentName,
      base_version_name: againstVersionName,
    });
    const row = requireRow(found, () => problem('environment-not-found', { name: environmentName }));
    const digest = requireDigest(row.environment_name, row.digest, environmentName, versionName);
    const { against_environment_name: against } = row;
    const againstDigest = requireDigest(
      against,
      row.against_digest,
      againstEnvironmentName,
      againstVersionName,
    );
    const { added, removed, changed } = row;
    const difference = { added: added ?? [], removed: removed ?? [], changed: changed ?? [] };
    return { body: { ...difference, digest, againstDigest } };
  });
}

/** Throws `environment-not-found` or `artifact-not-found` if a side of a comparison does not exist. */
function requireDigest(
  found: string | null,
  digest: string | null,
  name: string,
  versionName: string,
): string {
  if (found === null) throw problem('environment-not-found', { name });
  if (digest === null) throw createVersionProblem(name, versionName);
  return digest;
}

function assetRoute({ file }: Endpoints, blobs: Blobs): void {
  file(getAsset, async ({ query, rows, scope }) => {
    const { environmentName: name, path } = query;
    const found = await rows(fileOfVersion, {
      environment_name: name,
      version_name: query.versionName ?? null,
      path,
    });
    const row = requireRow(found, () => problem('environment-not-found', { name }));
    if (row.version_name === null) throw createVersionProblem(name, query.versionName);
    const { version_name: versionName, sha256 } = row;
    if (sha256 === null) throw problem('asset-not-found', { path, versionName });
    return {
      sha256,
      path,
      async open() {
        const blob = await blobs.read(scope.accountId, sha256);
        if (blob === undefined)
          throw new Error(`The stored file ${sha256} of ${scope.accountId} is missing.`);
        return blob;
      },
    };
  });
}

interface DryUpload {
  versionName: string;
  upload: Upload;
  checked: Checked;
  isStrict: boolean;
}

/**
 * `?dryRun=true` of an upload: what it would publish, or why it would be refused. Throws `strict-upload-refused` and
 * `empty-upload`.
 */
async function describeDryRun(
  { versionName, upload, checked, isStrict }: DryUpload,
  { warning }: { warning?: string },
): Promise<Answered> {
  if (isStrict) requireNoErrors(checked);
  requireFiles(upload);
  const { manifest, ignored } = upload;
  const body = {
    ignoredResources: ignored,
    versionName,
    ...checked.summary,
    digest: manifest.digest,
    assets: manifest.files.map(({ path }) => path),
  };
  const headers = warning === undefined ? {} : { [warningHeader]: warning };
  return { status: 200, headers, body: await renderJson(body) };
}
