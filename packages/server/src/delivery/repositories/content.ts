/** Commits, changes and files as the API shows them. */
import {
  changeLimit,
  type RepositoryCommit,
  type RepositoryFile,
  type RepositoryFileChange,
} from '@headgate/contract';
import type { Commit, FileChange, TreeEntry } from '../git/index.ts';

const longestMessage = 65_536;
const longestName = 1_024;
const longestPath = 4_096;
const mostParents = 100;

export function presentCommit(commit: Commit): RepositoryCommit {
  return {
    commitId: commit.commitId,
    parentIds: commit.parentIds.slice(0, mostParents),
    author: { name: cut(commit.author.name, longestName), email: cut(commit.author.email, longestName) },
    message: cut(commit.message, longestMessage),
    authoredAt: commit.author.at.toISOString(),
    committedAt: commit.committer.at.toISOString(),
  };
}

export function presentChanges(changes: readonly FileChange[]): RepositoryFileChange[] {
  return changes.slice(0, changeLimit).map((change) => ({
    path: cut(change.path, longestPath),
    change: change.kind,
    ...(change.earlierPath === undefined ? {} : { earlierPath: cut(change.earlierPath, longestPath) }),
    ...(change.additions === undefined ? {} : { additions: change.additions }),
    ...(change.deletions === undefined ? {} : { deletions: change.deletions }),
    isBinary: change.isBinary,
  }));
}

export function presentFile({ path, kind, objectId, size, isText }: TreeEntry): RepositoryFile {
  return {
    path: cut(path, longestPath),
    kind,
    objectId,
    ...(size === undefined ? {} : { size }),
    ...(isText ? {} : { isText }),
  };
}

/** Not within a surrogate pair. */
function cut(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most).toWellFormed();
}
