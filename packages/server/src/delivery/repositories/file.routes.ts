import { isUtf8 } from 'node:buffer';
import { fileContentLimit, getRepositoryFile, listRepositoryFiles } from '@headgate/contract';
import { trimBoth } from '@headgate/pipelines';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { presentFile } from './content.ts';
import { repositoryOfProject } from './repository.store.ts';
import type { RepositoryUse } from './repository-use.ts';
import { findAskedCommit } from './revision.ts';

export function fileRoutes({ read }: Endpoints, repositories: RepositoryUse): void {
  read(listRepositoryFiles, async ({ params, query, rows, scope }) => {
    const [row] = await rows(repositoryOfProject, {});
    const opened = await repositories.open({ ...scope, ...params }, row);
    const { limit, offset } = computePageBounds(query);
    const path = trimPath(query.path ?? '');
    const commitId = await findAskedCommit(opened, query);
    if (commitId === undefined) {
      if (path !== '') throw problem('revision-not-found', { name: 'HEAD', nearest: undefined });
      return { body: { page: query.page, results: [], size: limit, total: 0 } };
    }
    if (path !== '' && (await opened.content.findEntry(commitId, path))?.kind !== 'folder')
      throw problem('repository-file-not-found', { path, commitId, wanted: 'folder' });
    const entries = await opened.content.listTree(commitId, { recursive: query.recursive, path });
    const results = entries.slice(offset, offset + limit).map(presentFile);
    return { body: { page: query.page, results, size: limit, total: entries.length } };
  });

  read(getRepositoryFile, async ({ params, query, rows, scope }) => {
    const [row] = await rows(repositoryOfProject, {});
    const opened = await repositories.open({ ...scope, ...params }, row);
    const commitId = await findAskedCommit(opened, query);
    if (commitId === undefined) throw problem('revision-not-found', { name: 'HEAD', nearest: undefined });
    const path = query.path.replace(/^\/+/, '');
    const notFound = () => problem('repository-file-not-found', { path, commitId, wanted: 'file' });
    const entry = await opened.content.findEntry(commitId, path);
    if (entry === undefined || entry.kind === 'folder' || entry.kind === 'submodule') throw notFound();
    for await (const bytes of opened.content.readBlobs([entry.objectId], fileContentLimit)) {
      // Text of JSON cannot hold NUL.
      const encoding = isUtf8(bytes) && !bytes.includes(0) ? ('utf-8' as const) : ('base64' as const);
      return {
        body: {
          path,
          commitId,
          objectId: entry.objectId,
          size: bytes.length,
          encoding,
          content: bytes.toString(encoding === 'utf-8' ? 'utf8' : 'base64'),
        },
      };
    }
    throw notFound();
  });
}

const trimPath = (path: string) => trimBoth(path, '/');
