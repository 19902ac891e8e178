import type { Slice } from '../../kernel/slice/slice.ts';

export { restoreDamagedRefs } from './damaged-refs.ts';
export type { Git, GitCall, GitProcess, GitResult, RemoteAccess, Scratch } from './git.ts';
export { strictOption } from './git-environment.ts';
export type { GitUser } from './git-program.ts';
export type {
  Commit,
  FileChange,
  FileWrite,
  GitRepository,
  Ref,
  TreeEntry,
} from './git-repository.ts';
export { createGit } from './git-runner.ts';
export { type IncomingObjects, makeIncomingObjects, removeLeftObjects } from './incoming-objects.ts';
export { countObjects, measureObjects, mostPacks } from './object-sizes.ts';
export { openGitRepository } from './open-repository.ts';
export { removeLeftLocks } from './ref-locks.ts';
export { findBranchNameFault, findRefNameFault, isObjectId } from './ref-name.ts';

/** Has no routes: the git program for the slices of repositories. */
export const git: Slice = { name: 'git' };
