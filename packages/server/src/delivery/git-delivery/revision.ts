/** The commit that a request names. */
import { nearestName } from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';
import type { GitRepository } from '../git/index.ts';

export interface Revision {
  /** As the caller wrote it. */
  name: string;
  isBranch: boolean;
}

/** Throws `branch-or-commit`. */
export function chooseRevision(body: { branch?: string; commit?: string }): Revision {
  const { branch, commit } = body;
  if (branch !== undefined && commit === undefined) return { name: branch, isBranch: true };
  if (commit !== undefined && branch === undefined) return { name: commit.toLowerCase(), isBranch: false };
  throw problem('branch-or-commit');
}

/** Throws `unknown-revision`. */
export async function findCommit(repository: GitRepository, { name, isBranch }: Revision): Promise<string> {
  const found = await repository.findCommitId(isBranch ? `refs/heads/${name}` : name);
  if (found !== undefined) return found;
  const nearest = isBranch ? await findNearestBranch(repository, name) : undefined;
  throw problem('unknown-revision', { name, nearest });
}

async function findNearestBranch(repository: GitRepository, name: string): Promise<string | undefined> {
  const refs = await repository.listRefs(['refs/heads/']);
  return nearestName(
    name,
    refs.map((ref) => ref.name.replace(/^refs\/heads\//, '')),
  );
}
