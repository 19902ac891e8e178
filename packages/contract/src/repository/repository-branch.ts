/** Branches of a repository. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { pageOf, pageQuery } from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { BranchName } from './repository.ts';
import { gitReadProblems, gitWriteProblems } from './repository-problems.ts';
import { CommitId, changeLimit, FileChange, RevisionName } from './repository-shapes.ts';

/** More commits than this are not counted. */
export const countedCommitLimit = 10_000;

export const RepositoryBranch = named(
  'RepositoryBranch',
  Type.Object({
    name: Type.String({ maxLength: 1_024 }),
    commitId: CommitId,
    isDefault: Type.Boolean(),
    isProtected: Type.Boolean({ description: 'The branch can be neither deleted nor rewritten' }),
  }),
);
export type RepositoryBranch = Static<typeof RepositoryBranch>;

const branchOperation = { surface: 'dpc', tag: 'Repositories' } as const;
const path = '/v1/projects/{projectId}/repositories/branches';

export const listBranches = operation({
  ...branchOperation,
  id: 'listBranches',
  method: 'GET',
  path,
  summary: 'List branches',
  description: 'Ordered by name.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({
    ...pageQuery,
    branchName: Type.Optional(Type.String({ ...BranchName, description: 'Only the branch of this name' })),
  }),
  success: { status: 200, body: pageOf(RepositoryBranch) },
  problems: gitReadProblems,
  events: [],
});

export const createBranch = operation({
  ...branchOperation,
  id: 'createBranch',
  method: 'POST',
  path,
  summary: 'Create a branch',
  permission: 'repository:push',
  params: Type.Object(projectPath),
  body: Type.Object({
    name: BranchName,
    from: Type.Optional(
      Type.String({
        ...RevisionName,
        description: 'A branch, a tag or a commit. Default: the default branch',
      }),
    ),
  }),
  success: { status: 201, body: RepositoryBranch },
  problems: [
    ...gitWriteProblems,
    'unknown-revision',
    'invalid-branch-name',
    'branch-exists',
    'too-many-branches',
  ],
  events: ['branch-created', 'repository-pushed'],
});

export const deleteBranch = operation({
  ...branchOperation,
  id: 'deleteBranch',
  method: 'DELETE',
  path,
  summary: 'Delete a branch',
  permission: 'repository:push',
  params: Type.Object(projectPath),
  query: Type.Object({
    branchName: BranchName,
    expectedHead: Type.Optional(
      Type.String({ ...CommitId, description: 'Delete the branch only if it is at this commit' }),
    ),
  }),
  success: { status: 204 },
  problems: [...gitWriteProblems, 'branch-not-found', 'branch-is-protected', 'branch-has-moved'],
  events: ['branch-deleted', 'repository-pushed'],
});

export const BranchComparison = named(
  'BranchComparison',
  Type.Object({
    baseCommitId: CommitId,
    headCommitId: CommitId,
    mergeBaseCommitId: Type.Optional(
      Type.String({ ...CommitId, description: 'Absent if the two have no common commit' }),
    ),
    ahead: Type.Integer({
      minimum: 0,
      description: `Commits of \`head\` that \`base\` does not have, up to ${countedCommitLimit.toLocaleString('en')}`,
    }),
    behind: Type.Integer({
      minimum: 0,
      description: `Commits of \`base\` that \`head\` does not have, up to ${countedCommitLimit.toLocaleString('en')}`,
    }),
    files: Type.Array(FileChange, {
      maxItems: changeLimit,
      description: 'What `head` changes since the merge base',
    }),
    filesTotal: Type.Integer({ minimum: 0 }),
  }),
);
export type BranchComparison = Static<typeof BranchComparison>;

export const compareBranches = operation({
  ...branchOperation,
  id: 'compareBranches',
  method: 'GET',
  path: `${path}/compare`,
  summary: 'Compare two branches',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({
    base: Type.String({ ...RevisionName, description: 'A branch, a tag or a commit' }),
    head: Type.String({ ...RevisionName, description: 'A branch, a tag or a commit' }),
  }),
  success: { status: 200, body: BranchComparison },
  problems: [...gitReadProblems, 'revision-not-found'],
  events: [],
});

export const repositoryBranchOperations = [
  listBranches,
  createBranch,
  deleteBranch,
  compareBranches,
] as const;
