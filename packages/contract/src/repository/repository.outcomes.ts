/** Problems and events of the Git repository of a project. */
import { didYouMean, kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

const associationProblems = {
  'repository-not-found': kind(
    404,
    'The project has no repository.',
    () => 'The project has no repository; associate it with one by POST.',
  ),
  'repository-missing': kind(
    422,
    'The operation needs a repository, and the project has none.',
    () => 'The project has no repository. Associate it with one: POST /v1/projects/{projectId}/repositories.',
  ),
  'repository-exists': kind(
    409,
    'The project already has a repository.',
    () => 'The project already has a repository. Migrate it, or remove it first by DELETE.',
  ),
  'migration-in-progress': kind<{ migrationId: string }>(
    409,
    'The repository of the project is being migrated. Try again when the migration has ended.',
    ({ migrationId }) =>
      `The repository of the project is being migrated by the migration ${migrationId}; try again when it has ended.`,
  ),
  'clone-url-required': kind<{ advice: string }>(
    422,
    'The address of the repository is missing, and cannot be made from the other members.',
    ({ advice }) => `body.cloneUrl is missing: ${advice}`,
  ),
  'clone-url-refused': kind<{ field: string; reason: string }>(
    422,
    'The server does not connect to this address.',
    ({ field, reason }) => `${field} cannot be used: ${reason}`,
  ),
  'repository-credential-refused': kind<{ reason: string }>(
    422,
    'The token or the enterprise OAuth connection does not fit the repository.',
    ({ reason }) => reason,
  ),
  'repositories-unavailable': kind<{ reason: string }>(
    503,
    'The folder of the hosted repositories cannot be used.',
    ({ reason }) => `Hosted repositories cannot be used now: ${reason}`,
  ),
} as const;

const hostProblems = {
  'git-host-failed': kind<{ reason: string; words: string }>(
    502,
    'The Git host refused the request, failed, or could not be reached. The detail has its words.',
    ({ reason, words }) => (words === '' ? reason : `${reason} It says: ${quoted(words)}.`),
  ),
  'git-host-timeout': kind<{ reason: string }>(
    504,
    'The Git host took too long.',
    ({ reason }) => `${reason} Try again later.`,
  ),
  'repository-too-large': kind<{ reason: string }>(
    422,
    'The repository is larger than the server accepts.',
    ({ reason }) => `The repository is too large: ${reason}`,
  ),
  'push-refused': kind<{ words: string }>(
    422,
    'The Git host refused the push, for example because the branch is protected there.',
    ({ words }) => `The Git host refused the push: ${words}`,
  ),
} as const;

const contentProblems = {
  'invalid-branch-name': kind<{ name: string; reason: string }>(
    422,
    'Git does not accept the name of the branch.',
    ({ name, reason }) => `${quoted(name)} is no name for a branch: ${reason}`,
  ),
  'branch-not-found': kind<{ name: string; nearest: string | undefined }>(
    404,
    'The repository has no such branch.',
    ({ name, nearest }) => `The repository has no branch ${quoted(name)}.${didYouMean(nearest)}`,
  ),
  'unknown-branch': kind<{ name: string; nearest: string | undefined }>(
    422,
    'The body names a branch that the repository does not have.',
    ({ name, nearest }) => `The repository has no branch ${quoted(name)}.${didYouMean(nearest)}`,
  ),
  'revision-not-found': kind<{ name: string; nearest: string | undefined }>(
    404,
    'The repository has no such branch or tag, or none that contains the commit.',
    explainMissingRevision,
  ),
  'unknown-revision': kind<{ name: string; nearest: string | undefined }>(
    422,
    'The body names a branch or tag that the repository does not have, or a commit that none of them contains.',
    explainMissingRevision,
  ),
  'branch-exists': kind<{ name: string }>(
    409,
    'The repository already has a branch of this name, or one that has it as a folder.',
    ({ name }) =>
      `The repository already has the branch ${quoted(name)}, or one whose name contains it as a folder.`,
  ),
  'branch-has-moved': kind<{ branch: string; head: string | undefined }>(
    409,
    'The branch is not at the expected commit. Read it again, and repeat the change on its head.',
    ({ branch, head }) =>
      head === undefined
        ? `The branch ${quoted(branch)} moved during the request. Read it again, and repeat the change.`
        : `The branch ${quoted(branch)} is at ${head}, not at \`expectedHead\`. Read it again, and repeat the change.`,
  ),
  'branch-is-protected': kind<{ branch: string }>(
    422,
    'The branch is protected, so it cannot be deleted. Remove the protection by PATCH first.',
    ({ branch }) =>
      `The branch ${quoted(branch)} is protected and cannot be deleted; change \`protectedBranches\` by PATCH first.`,
  ),
  'too-many-branches': kind<{ limit: number }>(
    422,
    'The repository has as many branches and tags as it may have.',
    ({ limit }) => `The repository has ${limit} branches and tags, the most it may have; delete some first.`,
  ),
  'invalid-repository-file': kind<{ path: string; reason: string }>(
    422,
    'A file of the commit cannot be written: its path is refused, appears twice or is a folder, or its content is missing or refused by Git.',
    ({ path, reason }) => `The file ${quoted(path)} cannot be committed: ${reason}`,
  ),
  'nothing-to-commit': kind<{ branch: string }>(
    422,
    'The files are what the branch has already.',
    ({ branch }) => `Nothing to commit: the files are what the branch ${quoted(branch)} has already.`,
  ),
  'repository-file-not-found': kind<{ path: string; commitId: string; wanted: 'file' | 'folder' }>(
    404,
    'The commit has no file or folder at this path.',
    ({ path, commitId, wanted }) => `The commit ${commitId} has no ${wanted} ${quoted(path)}.`,
  ),
} as const;

function explainMissingRevision({ name, nearest }: { name: string; nearest: string | undefined }): string {
  if (/^[0-9a-f]{4,64}$/i.test(name))
    return `No branch or tag of the repository contains a commit ${quoted(name)}; push a branch or tag that contains it.${didYouMean(nearest)}`;
  return `The repository has no branch, tag or commit ${quoted(name)}.${didYouMean(nearest)}`;
}

export const repositoryOutcomes = {
  events: [
    'repository-created',
    'repository-updated',
    'repository-deleted',
    'repository-token-stored',
    'branch-created',
    'branch-deleted',
    'commit-created',
  ],
  problems: { ...associationProblems, ...hostProblems, ...contentProblems },
} as const satisfies Outcomes;
