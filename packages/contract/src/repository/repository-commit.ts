/** Commits of a repository. */
import { type Static, Type } from 'typebox';
import { assetNameLimitBytes } from '../artifact/asset-path.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, oneOf, tokenPageOf, tokenQuery } from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { BranchName } from './repository.ts';
import { gitReadProblems, gitWriteProblems } from './repository-problems.ts';
import { CommitId, changeLimit, FileChange, RepositoryPath, RevisionName } from './repository-shapes.ts';

/** Files of one commit by the API. */
export const commitFileLimit = 1_000;
/** Characters of a file of a commit by the API. */
export const commitContentLimit = 7_340_032;
/** Characters of a diff. */
export const patchLimit = 1_048_576;
const messageLimit = 65_536;

const CommitAuthor = Type.Object({
  name: Type.String({ maxLength: 1_024 }),
  email: Type.String({ maxLength: 1_024 }),
});

export const RepositoryCommit = named(
  'RepositoryCommit',
  Type.Object({
    commitId: CommitId,
    parentIds: Type.Array(CommitId, { maxItems: 100 }),
    author: CommitAuthor,
    message: Type.String({ maxLength: messageLimit }),
    authoredAt: DateTime,
    committedAt: DateTime,
  }),
);
export type RepositoryCommit = Static<typeof RepositoryCommit>;

const commitOperation = { surface: 'dpc', tag: 'Repositories' } as const;
const base = '/v1/projects/{projectId}/repositories';

export const revisionQuery = {
  branch: Type.Optional(Type.String({ ...BranchName, description: 'Default: the default branch' })),
  commit: Type.Optional(
    Type.String({
      ...RevisionName,
      description: 'A commit, instead of a branch: its id, or a beginning of it',
    }),
  ),
};

export const listCommits = operation({
  ...commitOperation,
  id: 'listCommits',
  method: 'GET',
  path: `${base}/commits`,
  summary: 'List commits',
  description:
    'Newest first, from the head of the branch. The following pages go on from the head of the first page.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({
    ...revisionQuery,
    path: Type.Optional(
      Type.String({
        ...RepositoryPath,
        minLength: 1,
        description: 'Only commits that change this file or folder',
      }),
    ),
    ...tokenQuery,
  }),
  success: { status: 200, body: tokenPageOf(RepositoryCommit) },
  problems: [...gitReadProblems, 'revision-not-found'],
  events: [],
});

const FileOfCommit = named(
  'FileOfCommit',
  Type.Object({
    path: Type.String({ minLength: 1, maxLength: assetNameLimitBytes }),
    content: Type.Optional(
      Type.String({ maxLength: commitContentLimit, description: 'The whole new content of the file' }),
    ),
    encoding: Type.Optional(oneOf(['utf-8', 'base64'], { description: 'Of `content`; default utf-8' })),
    executable: Type.Optional(Type.Boolean({ description: 'By default, as it was' })),
    delete: Type.Optional(Type.Boolean({ description: 'Delete the file; then there is no `content`' })),
  }),
);
export type FileOfCommit = Static<typeof FileOfCommit>;

export const createCommit = operation({
  ...commitOperation,
  id: 'createCommit',
  method: 'POST',
  path: `${base}/commits`,
  summary: 'Commit files',
  description:
    'Writes or deletes several files in one commit; the other files of the branch stay. ' +
    'With `expectedHead`, only if the branch is still at that commit. In a repository without branches the commit is the first one.',
  permission: 'repository:push',
  params: Type.Object(projectPath),
  body: Type.Object({
    branch: BranchName,
    expectedHead: Type.Optional(
      Type.String({ ...CommitId, description: 'The commit that the branch must be at' }),
    ),
    message: Type.String({ minLength: 1, maxLength: messageLimit }),
    files: Type.Array(FileOfCommit, { minItems: 1, maxItems: commitFileLimit }),
  }),
  success: {
    status: 201,
    body: Type.Object({ commitId: CommitId, branch: BranchName }),
  },
  problems: [
    ...gitWriteProblems,
    'unknown-branch',
    'invalid-branch-name',
    'branch-has-moved',
    'invalid-repository-file',
    'nothing-to-commit',
  ],
  events: ['commit-created', 'repository-pushed'],
});

export const CommitDifference = named(
  'CommitDifference',
  Type.Object({
    fromCommitId: CommitId,
    toCommitId: CommitId,
    files: Type.Array(FileChange, { maxItems: changeLimit }),
    filesTotal: Type.Integer({ minimum: 0 }),
    patch: Type.String({ maxLength: patchLimit * 2, description: 'A unified diff' }),
    isCut: Type.Boolean({
      description: `\`patch\` ends before the last file, because it is limited to ${patchLimit.toLocaleString('en')} bytes`,
    }),
  }),
);
export type CommitDifference = Static<typeof CommitDifference>;

export const compareCommits = operation({
  ...commitOperation,
  id: 'compareCommits',
  method: 'GET',
  path: `${base}/diff`,
  summary: 'Compare two commits',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({
    from: Type.String({ ...RevisionName, description: 'A commit or a branch' }),
    to: Type.String({ ...RevisionName, description: 'A commit or a branch' }),
  }),
  success: { status: 200, body: CommitDifference },
  problems: [...gitReadProblems, 'revision-not-found'],
  events: [],
});

export const repositoryCommitOperations = [listCommits, createCommit, compareCommits] as const;
