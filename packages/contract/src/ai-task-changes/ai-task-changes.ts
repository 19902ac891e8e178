/** The changes of an AI task: a person looks at them, and merges or discards them. */
import { type Static, Type } from 'typebox';
import { ofAiTask } from '../ai-task/ai-task.ts';
import { UploadWarning, uploadWarningLimit } from '../artifact/artifact-upload.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, EnvironmentName, oneOf, SeenDigest, seenHeader, Uuid } from '../primitives.ts';
import { CommitId } from '../repository/repository-shapes.ts';

export const shownFileLimit = 500;
export const shownPatchLimit = 524_288;
export const shownRunLimit = 50;
const BranchName = Type.String({ minLength: 1, maxLength: 1_024 });
const VersionName = Type.String({ minLength: 1, maxLength: 255 });

const copyStates = ['NONE', 'OPEN', 'MERGED', 'DISCARDED'] as const;
const AiTaskFile = named(
  'AiTaskFile',
  Type.Object({
    path: Type.String({ maxLength: 4_096 }),
    change: oneOf(['added', 'modified', 'deleted']),
    isCommitted: Type.Boolean(),
  }),
);
export type AiTaskFile = Static<typeof AiTaskFile>;

export const AiTaskChanges = named(
  'AiTaskChanges',
  Type.Object({
    taskId: Uuid,
    digest: {
      ...SeenDigest,
      description:
        'Of everything that a merge would bring: files, commits, start and target. A merge must name it; it is also the ETag',
    },
    state: oneOf(copyStates, { description: 'NONE: the task has not looked at the files of the project' }),
    sourceBranchName: Type.Optional({ ...BranchName, description: 'Where a merge goes to' }),
    branchName: Type.Optional({ ...BranchName, description: 'Of the commits; absent before the first one' }),
    startCommitId: Type.Optional(CommitId),
    commitId: Type.Optional({ ...CommitId, description: 'The last commit of the task' }),
    environmentName: Type.Optional({
      ...EnvironmentName,
      description: 'Where a merge publishes a version, in a project without a repository',
    }),
    startVersionName: Type.Optional(VersionName),
    message: Type.Optional(Type.String({ maxLength: 5_000, description: 'Of the last commit' })),
    files: Type.Array(AiTaskFile, { maxItems: shownFileLimit }),
    filesTotal: Type.Integer({ minimum: 0 }),
    patch: Type.String({ maxLength: shownPatchLimit, description: 'A unified diff of the text files' }),
    isCut: Type.Boolean({ description: 'The patch leaves out files' }),
    findings: Type.Array(UploadWarning, { maxItems: uploadWarningLimit }),
    findingsTotal: Type.Integer({ minimum: 0 }),
    runs: Type.Array(
      Type.Object({
        executionId: Uuid,
        kind: oneOf(['PIPELINE', 'TESTS']),
        name: Type.Optional(Type.String({ maxLength: 1_200 })),
        status: Type.Optional(Type.String({ maxLength: 20 })),
        startedAt: DateTime,
      }),
      { maxItems: shownRunLimit, description: 'Runs and tests that the task started, the last ones first' },
    ),
  }),
);
export type AiTaskChanges = Static<typeof AiTaskChanges>;

export const getAiTaskChanges = operation({
  ...ofAiTask,
  id: 'getAiTaskChanges',
  method: 'GET',
  path: '/v1/ai/agents/tasks/{taskId}/changes',
  summary: 'Get the changes of an AI task',
  description:
    'The files that the task changed, committed or not, with the findings of an upload of them. After a merge or a discard, a task that goes on begins new changes when it next looks at files.',
  permission: 'project:read',
  success: { status: 200, body: AiTaskChanges, headers: ['ETag'] },
  problems: ['ai-task-not-found', 'repository-missing', 'migration-in-progress', 'git-failed'],
  events: [],
});

export const mergeAiTask = operation({
  ...ofAiTask,
  id: 'mergeAiTask',
  method: 'POST',
  path: '/v1/ai/agents/tasks/{taskId}/merge',
  summary: 'Merge the changes of an AI task',
  description:
    'Puts all changes, also those that are not committed, on the source branch; in a project without a repository it publishes them as a version, for which the `qualityGate` of the environment counts. ' +
    'The response is 409 if somebody else has changed one of the files in between. The task must not be running.\n\n' +
    'The request must name the changes that the caller has seen, by their `digest`: it is 428 without one, and 412 if the task has changed something since.',
  permission: 'project:configure',
  headers: seenHeader,
  body: Type.Object({
    digest: Type.Optional({
      ...SeenDigest,
      description: 'The `digest` of the changes; required here or in `If-Match`',
    }),
    message: Type.Optional(
      Type.String({ minLength: 1, maxLength: 5_000, description: 'Default: that of the last commit' }),
    ),
    versionName: Type.Optional({
      ...VersionName,
      description:
        'Of the version, in a project without a repository. Default: a name with the id of the task',
    }),
  }),
  success: {
    status: 200,
    body: Type.Object({
      taskId: Uuid,
      state: oneOf(['MERGED']),
      branchName: Type.Optional(BranchName),
      commitId: Type.Optional(CommitId),
      environmentName: Type.Optional(EnvironmentName),
      versionName: Type.Optional(VersionName),
    }),
  },
  problems: [
    'ai-task-not-found',
    'precondition-required',
    'digest-mismatch',
    'ai-task-running',
    'ai-task-no-changes',
    'ai-task-changes-closed',
    'ai-task-changes-busy',
    'ai-task-merge-conflict',
    'branch-has-moved',
    'push-refused',
    'ref-refused',
    'repository-missing',
    'migration-in-progress',
    'git-failed',
    'version-exists',
    'environment-not-found',
    'invalid-asset-name',
    'quality-gate-refused',
    'review-too-large',
  ],
  events: ['ai-task-merged', 'artifact-created'],
});

export const discardAiTask = operation({
  ...ofAiTask,
  id: 'discardAiTask',
  method: 'POST',
  path: '/v1/ai/agents/tasks/{taskId}/discard',
  summary: 'Discard the changes of an AI task',
  description: 'Deletes the edits, and the branch that the task made. The task must not be running.',
  permission: 'project:configure',
  success: { status: 200, body: Type.Object({ taskId: Uuid, state: oneOf(['DISCARDED']) }) },
  problems: [
    'ai-task-not-found',
    'ai-task-running',
    'ai-task-no-changes',
    'ai-task-changes-closed',
    'ai-task-changes-busy',
    'ai-task-changes-committed',
    'branch-has-moved',
    'branch-is-protected',
    'push-refused',
    'ref-refused',
    'repository-missing',
    'migration-in-progress',
    'git-failed',
  ],
  events: ['ai-task-discarded'],
});

export const aiTaskChangesOperations = [getAiTaskChanges, mergeAiTask, discardAiTask] as const;
