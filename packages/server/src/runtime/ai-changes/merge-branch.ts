/**
 * Puts the changes of a task on its source branch. What both changed is a conflict by whole files: pipelines
 * merged line by line may be wrong without any mark.
 */
import type { RefChange } from '../../delivery/hosted-repositories/index.ts';
import type { OpenedRepository } from '../../delivery/repositories/index.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { CopyRow } from '../ai-tools/index.ts';
import type { ChangedFile } from './changed-files.ts';

export interface Merger {
  by: Parameters<OpenedRepository['move']>[0];
  name: string;
  message: string;
  /** No edit of the task waits for a commit. */
  isCommitted: boolean;
  now: Date;
}

const shownPaths = 20;
const mostBytes = 16 * 1_048_576;

/** @returns the commit at which the source branch is now @throws `ai-task-merge-conflict`, `branch-has-moved` */
export async function mergeBranch(
  opened: OpenedRepository,
  row: CopyRow,
  changed: readonly ChangedFile[],
  merger: Merger,
): Promise<string> {
  const { content } = opened;
  const branch = row.source_branch ?? '';
  const head = (await content.findCommitId(`refs/heads/${branch}`)) ?? null;
  const commit = row.commit_id;
  const { isCommitted } = merger;
  // A fast-forward from another commit, or with edits over it, could bring what was not shown as changes.
  if (commit !== null && isCommitted && head === row.start_commit)
    return moveTo(opened, merger, branch, head, commit);
  // The task committed to the source branch itself, and others may have gone on from there.
  const isThere =
    commit !== null && head !== null && (commit === head || (await content.isAncestor(commit, head)));
  if (isThere && isCommitted) return head;
  const missing = await findMissing(opened, head, changed);
  if (missing.length === 0 && head !== null) return head;
  await requireNoConflict(opened, row, { head, base: isThere ? commit : row.start_commit }, missing);
  const merged = await content.writeCommitObject({
    expectedHead: head,
    files: missing.map(({ path, after }) => ({
      path,
      content: after === undefined ? undefined : Buffer.from(after),
    })),
    message: merger.message,
    author: { name: merger.name, email: `${merger.by.scope.actorId}@noreply.headgate` },
    at: merger.now,
  });
  return moveTo(opened, merger, branch, head, merged.commitId);
}

async function moveTo(
  opened: OpenedRepository,
  { by }: Merger,
  branch: string,
  head: string | null,
  to: string,
): Promise<string> {
  if (head === to) return to;
  const change: RefChange = { name: `refs/heads/${branch}`, from: head, to };
  if (!(await opened.move(by, change))) throw problem('branch-has-moved', { branch, head: undefined });
  return to;
}

/** Changes that the branch does not have: after a crash it may have all. */
async function findMissing(
  opened: OpenedRepository,
  head: string | null,
  changed: readonly ChangedFile[],
): Promise<ChangedFile[]> {
  const missing: ChangedFile[] = [];
  for (const file of changed)
    if ((await readText(opened, head, file.path)) !== file.after) missing.push(file);
  return missing;
}

async function requireNoConflict(
  opened: OpenedRepository,
  row: CopyRow,
  { head, base }: { head: string | null; base: string | null },
  missing: readonly ChangedFile[],
): Promise<void> {
  if (head === base) return;
  const paths: string[] = [];
  for (const { path, before } of missing) {
    const first = base === row.start_commit ? before : await readText(opened, base, path);
    if ((await readText(opened, head, path)) !== first) paths.push(path);
  }
  if (paths.length > 0)
    throw problem('ai-task-merge-conflict', {
      paths: paths.slice(0, shownPaths),
      total: paths.length,
      branch: row.commit_id === null ? null : row.branch,
    });
}

async function readText(
  { content }: OpenedRepository,
  commitId: string | null,
  path: string,
): Promise<string | undefined> {
  const entry = commitId === null ? undefined : await content.findEntry(commitId, path);
  if (entry === undefined) return undefined;
  for await (const bytes of content.readBlobs([entry.objectId], mostBytes)) return bytes.toString('utf8');
  return undefined;
}
