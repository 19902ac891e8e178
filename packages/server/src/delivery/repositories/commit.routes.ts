import { compareCommits, createCommit, listCommits, pageSizeLimit, patchLimit } from '@headgate/contract';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { makePagingToken, readPagingToken } from '../../kernel/http/paging.ts';
import { createTokenProblem, problem } from '../../kernel/http/problems.ts';
import type { GitRepository } from '../git/index.ts';
import { callerOfRequest } from './caller.store.ts';
import { prepareFiles } from './commit-files.ts';
import { presentChanges, presentCommit } from './content.ts';
import { repositoryOfProject } from './repository.store.ts';
import { requireBranchName } from './repository.ts';
import type { OpenedRepository, RepositoryUse } from './repository-use.ts';
import {
  branchPrefix,
  findAskedCommit,
  findHead,
  findNearestBranch,
  listBranchRefs,
  requireRevision,
} from './revision.ts';

/** Of a commit without `expectedHead`, while others commit on the branch too. */
const attempts = 8;

export function commitRoutes({ read, long }: Endpoints, repositories: RepositoryUse): void {
  read(listCommits, async ({ params, query, rows, scope }) => {
    const [row] = await rows(repositoryOfProject, {});
    const opened = await repositories.open({ ...scope, ...params }, row);
    const { content } = opened;
    const limit = Math.min(query.limit, pageSizeLimit);
    const from =
      query.paginationToken === undefined
        ? { head: await findAskedCommit(opened, query), skip: 0 }
        : readPosition(query.paginationToken);
    if (from.head === undefined) return { body: { results: [] } };
    if (query.paginationToken !== undefined && !(await isShown(content, from.head)))
      throw createTokenProblem();
    const path = query.path?.replace(/^\/+/, '');
    const found = await content.listCommits(from.head, {
      most: limit + 1,
      skip: from.skip,
      ...(path === undefined ? {} : { path }),
    });
    const more = found.length > limit ? makePagingToken(`${from.head}.${from.skip + limit}`) : undefined;
    const results = found.slice(0, limit).map(presentCommit);
    return { body: { results, ...(more === undefined ? {} : { more }) } };
  });

  read(compareCommits, async ({ params, query, rows, scope }) => {
    const [row] = await rows(repositoryOfProject, {});
    const opened = await repositories.open({ ...scope, ...params }, row);
    const from = await requireRevision(opened, query.from);
    const to = await requireRevision(opened, query.to);
    const { files, patch, isCut } = await opened.content.diffCommits(from, to, patchLimit);
    return {
      body: {
        fromCommitId: from,
        toCommitId: to,
        files: presentChanges(files),
        filesTotal: files.length,
        patch,
        isCut,
      },
    };
  });

  long(createCommit, async ({ params, body, rows, scope, now, requestId, findEarlierAnswer, write }) => {
    const [row] = await rows(repositoryOfProject, {});
    const [caller] = await rows(callerOfRequest, {});
    const content = JSON.stringify(body);
    const earlier = await findEarlierAnswer(content);
    if (earlier !== undefined) return earlier;
    const { branch, message } = body;
    requireBranchName(branch);
    const files = prepareFiles(body.files);
    const commitOnce = async () => {
      const opened = await repositories.open({ ...scope, ...params }, row);
      const head = await findExpectedHead(opened, branch, body.expectedHead);
      await files.checkAgainst(opened.content, head);
      const { commitId, isChange } = await opened.content.writeCommitObject({
        expectedHead: head,
        files: files.writes,
        message,
        author: { name: caller?.name ?? 'Headgate', email: `${scope.actorId}@noreply.headgate` },
        at: now,
      });
      if (!isChange) throw problem('nothing-to-commit', { branch });
      const change = { name: branchPrefix + branch, from: head, to: commitId };
      return (await opened.move({ scope, requestId }, change)) ? { commitId, head } : undefined;
    };
    // A caller who names no head wants the commit on whatever is there: it is made again on that.
    let made = await commitOnce();
    for (
      let left = body.expectedHead === undefined ? attempts - 1 : 0;
      made === undefined && left > 0;
      left -= 1
    )
      made = await commitOnce();
    if (made === undefined) throw problem('branch-has-moved', { branch, head: undefined });
    const { commitId, head } = made;
    return write(content, () => {
      const subject = { type: 'commit', id: commitId, name: message.split('\n', 1)[0]?.slice(0, 255) };
      const { projectId } = params;
      const after = { commitId, branch, parentId: head, files: body.files.length };
      return {
        body: { commitId, branch },
        events: [{ name: 'commit-created', projectId, subject, after }],
      };
    });
  });
}

/**
 * The head to commit on; null for the first commit of an empty repository.
 * @throws `branch-has-moved`, `unknown-branch`
 */
async function findExpectedHead(
  opened: OpenedRepository,
  branch: string,
  expected: string | undefined,
): Promise<string | null> {
  const head = await findHead(opened, branch);
  if (head !== undefined) {
    if (expected !== undefined && expected !== head) throw problem('branch-has-moved', { branch, head });
    return head;
  }
  const branches = await listBranchRefs(opened);
  if (branches.length === 0 && expected === undefined) return null;
  const nearest = await findNearestBranch(opened, branch);
  throw problem('unknown-branch', { name: branch, nearest });
}

async function isShown(content: GitRepository, commitId: string): Promise<boolean> {
  const found = await content.findCommitId(commitId);
  return found !== undefined && (await content.isReachable(found));
}

/** A position in the history of a commit: `{commit}.{number of commits before}`. */
function readPosition(token: string): { head: string; skip: number } {
  const [, head, skip] = /^([0-9a-f]{40})\.(\d{1,9})$/.exec(readPagingToken(token) ?? '') ?? [];
  if (head === undefined) throw createTokenProblem();
  return { head, skip: Number(skip) };
}
