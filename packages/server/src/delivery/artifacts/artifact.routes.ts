import { isUtf8 } from 'node:buffer';
import { createArtifact, getArtifact, listArtifacts } from '@headgate/contract';
import { one } from '../../kernel/database.ts';
import type { Endpoints } from '../../kernel/endpoint.ts';
import { pageBounds } from '../../kernel/paging.ts';
import { problem } from '../../kernel/problems.ts';
import { environmentByName } from '../../workspace/environments/index.ts';
import type { Blobs } from '../blobs/index.ts';
import {
  insertArtifact,
  isVersion,
  noVersion,
  presentVersion,
  versionPage,
  versionWithPaths,
} from './artifact.store.ts';
import { readUpload, type UploadLimits } from './upload.ts';

export function artifactRoutes(
  { read, long }: Endpoints,
  store: { blobs: Blobs; limits: UploadLimits },
): void {
  long(createArtifact, async ({ rows, write, request, params, headers, scope, now }) => {
    const name = headers.environmentname;
    one(await rows(environmentByName, [name]), () => problem('environment-not-found', { name }));
    return store.blobs.writing(scope.accountId, async (writer) => {
      const upload = await readUpload(request.raw, store.limits, writer);
      const version = {
        projectId: params.projectId,
        environmentName: name,
        versionName: utf8(headers.versionname),
        branch: headers.branch === undefined ? null : utf8(headers.branch),
        commitHash: headers.commithash ?? null,
      };
      const content = JSON.stringify([version, upload.digest, upload.ignored]);
      return write(content, (tx) => {
        insertArtifact(tx, scope, version, upload, now);
        const { digest, files, ignored } = upload;
        const after = { ...version, digest, files: files.length, ignoredResources: ignored.length };
        const subject = { type: 'artifact', id: version.versionName, name: version.versionName };
        return {
          body: { ignoredResources: ignored, versionName: version.versionName },
          events: [{ name: 'artifact-created', projectId: version.projectId, subject, after }],
        };
      });
    });
  });

  read(listArtifacts, async ({ query, page }) => {
    const { limit, offset } = pageBounds(query);
    const name = query.environmentName;
    const { rows, total } = await page(versionPage, [name, query.enabledOnly, limit, offset]);
    if (total === null) throw problem('environment-not-found', { name });
    return { body: { page: query.page, results: rows.map(presentVersion), size: limit, total } };
  });

  read(getArtifact, async ({ query, rows }) => {
    const name = query.environmentName;
    const found = await rows(versionWithPaths, [name, query.versionName ?? null]);
    const row = one(found, () => problem('environment-not-found', { name }));
    if (!isVersion(row)) throw noVersion(name, query.versionName);
    return { body: { assets: row.paths ?? [], details: presentVersion(row) } };
  });
}

/** A header's text: HTTP carries bytes, which Node reads as Latin-1 and clients mean as UTF-8. */
function utf8(header: string): string {
  const bytes = Buffer.from(header, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : header;
}
