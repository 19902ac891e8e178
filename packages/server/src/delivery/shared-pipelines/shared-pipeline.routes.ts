import {
  createSharedPipelines,
  getSharedArtifact,
  listSharedArtifacts,
  listSharedPipelines,
  type SharedPipelineGroup,
  updateSharedArtifact,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import {
  createPipelineChecks,
  readUpload,
  requireNoErrors,
  type UploadServices,
} from '../artifacts/index.ts';
import {
  enableVersion,
  type GroupRow,
  groupPage,
  insertVersion,
  latestVersion,
  namedVersion,
  newestManifest,
  versionPage,
  versionPageOfGroup,
} from './shared-pipeline.store.ts';
import { presentPipeline, presentVersion, requirePipelines } from './shared-pipeline.ts';

export function sharedPipelineRoutes({ read, write, long }: Endpoints, store: UploadServices): void {
  long(createSharedPipelines, async ({ rows, write: commit, request, query, headers, scope, now }) => {
    const prefix = headers.sharedPipelineIdPrefix;
    const [newest] = await rows(newestManifest, { prefix });
    const base = newest?.manifest_digest ?? null;
    return store.blobs.writeBlobs(scope.accountId, base, async (writer) => {
      const checks = createPipelineChecks(
        store.readPipeline,
        scope.accountId,
        `the shared pipelines ${JSON.stringify(prefix)}`,
      );
      const upload = await readUpload(request.raw, store.config.upload, writer, checks);
      // The variables and secret references of the projects that will use it are unknown here.
      const paths = upload.manifest.files.map((file) => file.path);
      const found = checks.check(paths, checks.listUnknownVariables(), checks.listUnknownSecrets());
      const version = {
        prefix,
        versionName: headers.versionName,
        branch: headers.branch ?? null,
        commitHash: headers.commitHash ?? null,
      };
      const content = JSON.stringify([version, upload.manifest.digest, upload.ignored, query.strict]);
      return commit(content, async (tx) => {
        if (query.strict) requireNoErrors(found);
        requirePipelines(upload);
        await insertVersion(tx, scope, version, upload, now);
        const { manifest, pipelines, ignored } = upload;
        const counts = {
          files: manifest.files.length,
          pipelines: pipelines.length,
          ignoredResources: ignored.length,
          warnings: found.summary.warningsTotal,
        };
        const after = { ...version, enabled: true, digest: manifest.digest, ...counts };
        return {
          body: { ignoredResources: ignored, versionName: version.versionName, ...found.summary },
          events: [{ name: 'shared-pipelines-created', subject: buildSubject(version), after }],
        };
      });
    });
  });

  read(listSharedArtifacts, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { sharedPipelineIdPrefix: prefix, enabledOnly } = query;
    const { rows, total } = await (prefix === undefined
      ? page(versionPage, { enabled_only: enabledOnly, limit, offset })
      : page(versionPageOfGroup, { enabled_only: enabledOnly, prefix, limit, offset }));
    return { body: { page: query.page, results: rows.map(presentVersion), size: limit, total } };
  });

  read(getSharedArtifact, async ({ query, rows }) => {
    const { sharedPipelineIdPrefix: prefix, versionName } = query;
    const found = await (versionName === undefined
      ? rows(latestVersion, { prefix })
      : rows(namedVersion, { prefix, version_name: versionName }));
    const row = requireRow(found, () => problem('shared-version-not-found', { prefix, versionName }));
    const sharedPipelines = row.pipelines.map((pipeline) => presentPipeline(prefix, pipeline));
    return { body: { artifactDetails: presentVersion(row), sharedPipelines } };
  });

  read(listSharedPipelines, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(groupPage, { limit, offset });
    return { body: { page: query.page, results: rows.map(presentGroup), size: limit, total } };
  });

  write(updateSharedArtifact, async ({ tx, scope, body }) => {
    const { sharedPipelineIdPrefix: prefix, versionName, enabled } = body;
    const before = await enableVersion(tx, scope, { prefix, versionName }, enabled);
    return {
      body: { enabled, versionName },
      events: [
        {
          name: 'shared-pipelines-updated',
          subject: buildSubject({ prefix, versionName }),
          before: { versionName, enabled: before },
          after: { versionName, enabled },
        },
      ],
    };
  });
}

/** The subject id is the group, so that events are found by it. */
function buildSubject({ prefix, versionName }: { prefix: string; versionName: string }) {
  return { type: 'shared-pipelines', id: prefix, name: `${prefix} ${versionName}` };
}

function presentGroup({ prefix, version_name, pipeline_count, pipelines }: GroupRow): SharedPipelineGroup {
  return {
    sharedPipelineIdPrefix: prefix,
    ...(version_name === null ? {} : { latestVersionName: version_name }),
    sharedPipelineCount: pipeline_count ?? 0,
    sharedPipelines: (pipelines ?? []).map((pipeline) => presentPipeline(prefix, pipeline)),
  };
}
