/** Delivery from Git. */
import { type Static, Type } from 'typebox';
import { UploadResult, uploadOperation } from '../artifact/artifact-upload.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, EnvironmentName, Name, oneOf, pageOf, pageQuery, VersionName } from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { BranchName, branchNameLimit } from '../repository/repository.ts';
import { gitReadProblems } from '../repository/repository-problems.ts';

const CommitName = Type.String({
  maxLength: 64,
  pattern: '^[0-9a-fA-F]{4,64}$',
  'x-form': 'a commit id of 4 to 64 hexadecimal digits, such as 1a2b3c4d',
  description: 'A commit that a branch or tag of the repository contains; the first digits suffice',
});

const TagName = Type.String({
  minLength: 1,
  maxLength: branchNameLimit,
  description: 'The name of a tag, without `refs/tags/`',
});

export const createArtifactFromGit = operation({
  id: 'createArtifactFromGit',
  method: 'POST',
  path: '/v1/projects/{projectId}/artifacts/from-git',
  surface: 'dpc',
  tag: 'Artifacts',
  summary: 'Publish an artifact version from Git',
  description:
    'Publishes the files of a commit of the repository of the project, by the same rules as an upload. Name a branch, whose newest commit is published, a tag, or a commit. ' +
    'The server sets `commitHash`, `branch` and `provider` of the version. Without `versionName`, the version is named after the commit and the branch or tag, for example `1a2b3c4d5e6f-main`. ' +
    'Symbolic links, submodules and pointers of Git LFS are listed in `ignoredResources`.',
  permission: 'environment:deliver',
  alsoRequires: 'project:read',
  environmentFrom: 'body.environmentName',
  params: Type.Object(projectPath),
  query: uploadOperation.query,
  body: Type.Object({
    environmentName: EnvironmentName,
    branch: Type.Optional(BranchName),
    tag: Type.Optional(TagName),
    commit: Type.Optional(CommitName),
    versionName: Type.Optional(VersionName),
  }),
  success: { status: 201, body: UploadResult },
  problems: [
    'environment-not-found',
    'version-exists',
    'branch-or-commit',
    'unknown-revision',
    'git-tree-refused',
    'empty-upload',
    'strict-upload-refused',
    'quality-gate-refused',
    'review-too-large',
    ...gitReadProblems,
  ],
  events: ['artifact-created'],
});

export const createGitHookSecret = operation({
  id: 'createGitHookSecret',
  method: 'POST',
  path: '/v1/projects/{projectId}/repositories/hook-secret',
  surface: 'dpc',
  tag: 'Repositories',
  summary: 'Create the secret of the webhook of a Git provider',
  description:
    'Returns the address and the secret to set in a webhook at the provider. The secret is shown only here, and replaces the earlier one at once. ' +
    'With it, pushes reach Headgate without waiting for the next poll, and pull requests get a commit status.',
  permission: 'repository:manage',
  params: Type.Object(projectPath),
  body: Type.Object({}),
  success: {
    status: 201,
    body: named(
      'GitHookSecret',
      Type.Object({
        url: Type.String({ maxLength: 2_048 }),
        secret: Type.String({ maxLength: 100 }),
        headers: Type.Array(Name, {
          maxItems: 5,
          description: 'Where the provider shows the secret or its signature',
        }),
      }),
    ),
  },
  answerHoldsSecret: true,
  problems: ['repository-not-found', 'migration-in-progress', 'hook-not-supported'],
  events: ['git-hook-secret-created'],
});

const ReviewFinding = named(
  'GitReviewFinding',
  Type.Object({
    path: Type.Optional(Type.String({ maxLength: 1_024 })),
    line: Type.Optional(Type.Integer({ minimum: 1 })),
    level: oneOf(['error', 'warning']),
    component: Type.Optional(Name),
    code: Type.String({
      maxLength: 100,
      description: 'Of an upload, or the id of a rule of the quality review',
    }),
    message: Type.String({ maxLength: 2_000 }),
  }),
);

export const GitReview = named(
  'GitReview',
  Type.Object({
    branchName: BranchName,
    isPending: Type.Boolean({ description: 'The branch will be checked, or its status sent, again' }),
    commitHash: Type.Optional(Type.String({ maxLength: 64, description: 'The commit that was checked' })),
    outcome: Type.Optional(oneOf(['success', 'failure'])),
    errors: Type.Optional(Type.Integer({ minimum: 0 })),
    warnings: Type.Optional(Type.Integer({ minimum: 0 })),
    findings: Type.Array(ReviewFinding, { maxItems: 100, description: 'The first ones, errors first' }),
    checkedAt: Type.Optional(DateTime),
    problem: Type.Optional(
      Type.String({ maxLength: 2_000, description: 'Why the branch was not checked, or the status not set' }),
    ),
  }),
);
export type GitReview = Static<typeof GitReview>;

export const listGitReviews = operation({
  id: 'listGitReviews',
  method: 'GET',
  path: '/v1/projects/{projectId}/repositories/reviews',
  surface: 'dpc',
  tag: 'Repositories',
  summary: 'List the checks of pull and merge requests',
  description:
    'What the checks of an upload find in the branches that pull or merge requests want to merge, newest first. The provider gets it as a commit status. Kept for 30 days.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({ branchName: Type.Optional(BranchName), ...pageQuery }),
  success: { status: 200, body: pageOf(GitReview) },
  problems: [],
  events: [],
});

export const gitDeliveryOperations = [createArtifactFromGit, createGitHookSecret, listGitReviews] as const;
