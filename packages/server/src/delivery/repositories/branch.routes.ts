import {
  compareBranches,
  countedCommitLimit,
  createBranch,
  deleteBranch,
  listBranches,
  type RepositoryBranch,
} from '@headgate/contract';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Ref } from '../git/index.ts';
import { isProtected, mostRefs } from '../hosted-repositories/index.ts';
import { presentChanges } from './content.ts';
import { repositoryOfProject } from './repository.store.ts';
import { requireBranchName } from './repository.ts';
import type { OpenedRepository, RepositoryUse } from './repository-use.ts';
import {
  branchPrefix,
  findHead,
  findNearestBranch,
  listBranchRefs,
  requireHead,
  requireRevision,
} from './revision.ts';

export function branchRoutes({ read, long }: Endpoints, repositories: RepositoryUse): void {
  read(listBranches, async ({ params, query, rows, scope }) => {
    const [row] = await rows(repositoryOfProject, {});
    const opened = await repositories.open({ ...scope, ...params }, row);
    const all = await listBranchRefs(opened);
    const { branchName } = query;
    const chosen = branchName === undefined ? all : all.filter(({ name }) => name === branchName);
    const { limit, offset } = computePageBounds(query);
    const results = chosen.slice(offset, offset + limit).map((ref) => presentBranch(opened, ref));
    return { body: { page: query.page, results, size: limit, total: chosen.length } };
  });

  long(createBranch, async ({ params, body, rows, scope, requestId, findEarlierAnswer, write }) => {
    const [row] = await rows(repositoryOfProject, {});
    const content = JSON.stringify(body);
    const earlier = await findEarlierAnswer(content);
    if (earlier !== undefined) return earlier;
    requireBranchName(body.name);
    const opened = await repositories.open({ ...scope, ...params }, row);
    const commitId = await findStart(opened, body.from);
    const refs = await opened.content.listRefs(['refs/heads/', 'refs/tags/']);
    if (refs.length >= mostRefs) throw problem('too-many-branches', { limit: mostRefs });
    requireFreeName(refs, body.name);
    const name = branchPrefix + body.name;
    const isMoved = await opened.move({ scope, requestId }, { name, from: null, to: commitId });
    if (!isMoved) throw problem('branch-exists', { name: body.name });
    return write(content, () => {
      const after = presentBranch(opened, { name: body.name, objectId: commitId });
      const subject = { type: 'branch', id: body.name, name: body.name };
      return {
        body: after,
        events: [{ name: 'branch-created', projectId: params.projectId, subject, after }],
      };
    });
  });

  long(deleteBranch, async ({ params, query, rows, scope, requestId, write }) => {
    const [row] = await rows(repositoryOfProject, {});
    const opened = await repositories.open({ ...scope, ...params }, row);
    const { branchName: branch, expectedHead } = query;
    const head = await findHead(opened, branch);
    if (head === undefined) {
      const nearest = await findNearestBranch(opened, branch);
      throw problem('branch-not-found', { name: branch, nearest });
    }
    if (isBranchProtected(opened, branch)) throw problem('branch-is-protected', { branch });
    if (expectedHead !== undefined && expectedHead !== head)
      throw problem('branch-has-moved', { branch, head });
    const change = { name: branchPrefix + branch, from: head, to: null };
    if (!(await opened.move({ scope, requestId }, change)))
      throw problem('branch-has-moved', { branch, head: undefined });
    return write('', () => {
      const before = presentBranch(opened, { name: branch, objectId: head });
      const subject = { type: 'branch', id: branch, name: branch };
      return { events: [{ name: 'branch-deleted', projectId: params.projectId, subject, before }] };
    });
  });

  read(compareBranches, async ({ params, query, rows, scope }) => {
    const [row] = await rows(repositoryOfProject, {});
    const opened = await repositories.open({ ...scope, ...params }, row);
    const { content } = opened;
    const base = await requireRevision(opened, query.base);
    const head = await requireRevision(opened, query.head);
    const mergeBase = await content.findMergeBase(base, head);
    const count = (from: string, without: string) =>
      content.countCommits({ from, without, most: countedCommitLimit });
    const [ahead, behind] = [await count(head, base), await count(base, head)];
    const changes = await content.listChanges(mergeBase ?? base, head);
    return {
      body: {
        baseCommitId: base,
        headCommitId: head,
        ...(mergeBase === undefined ? {} : { mergeBaseCommitId: mergeBase }),
        ahead,
        behind,
        files: presentChanges(changes),
        filesTotal: changes.length,
      },
    };
  });
}

/** @throws `unknown-revision` */
async function findStart(opened: OpenedRepository, from: string | undefined): Promise<string> {
  const unknown = (about: { name: string; nearest: string | undefined }) =>
    problem('unknown-revision', about);
  if (from !== undefined) return requireRevision(opened, from, unknown);
  return requireHead(opened, opened.defaultBranch ?? 'HEAD', unknown);
}

/** Git keeps a branch as a file, so `a` and `a/b` exclude each other. */
function requireFreeName(refs: readonly Ref[], branch: string): void {
  const name = branchPrefix + branch;
  const isTaken = refs.some(
    (ref) => ref.name === name || ref.name.startsWith(`${name}/`) || name.startsWith(`${ref.name}/`),
  );
  if (isTaken) throw problem('branch-exists', { name: branch });
}

export function isBranchProtected({ row, defaultBranch }: OpenedRepository, branch: string): boolean {
  return isProtected({ defaultBranch, protectedBranches: row.protected_branches }, branchPrefix + branch);
}

function presentBranch(opened: OpenedRepository, { name, objectId }: Ref): RepositoryBranch {
  return {
    name: name.slice(0, 1_024),
    commitId: objectId,
    isDefault: name === opened.defaultBranch,
    isProtected: isBranchProtected(opened, name),
  };
}
