/** A person looks at the changes of a task, and merges or discards them. */
import {
  type AiTaskChanges,
  discardAiTask,
  getAiTaskChanges,
  mergeAiTask,
  shownFileLimit,
  shownPatchLimit,
  shownRunLimit,
} from '@headgate/contract';
import {
  environmentToUploadTo,
  type PipelineReader,
  publishVersion,
} from '../../delivery/artifacts/index.ts';
import {
  createRetainedFiles,
  describeGateErrors,
  passGate,
  type Reviewer,
} from '../../delivery/quality-rules/index.ts';
import { isBranchProtected } from '../../delivery/repositories/index.ts';
import type { Clock } from '../../kernel/clock.ts';
import { requireRow, type Transaction } from '../../kernel/database/database.ts';
import type { Answered, Endpoints, LongCall, ReadCall } from '../../kernel/endpoint/endpoint.ts';
import { requireNamed, requireSeen } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import type { Leases } from '../../kernel/work/lease.ts';
import { LeaseLost } from '../../kernel/work/server-work.ts';
import { buildTaskEvent, createPlaceFinder, type TaskDescription } from '../ai-tasks/index.ts';
import {
  type CopyRow,
  type CopyServices,
  closeCopy,
  judgeCopy,
  listRuns,
  readCopy,
} from '../ai-tools/index.ts';
import { taskWithCopy } from './change.store.ts';
import { type ChangedFile, digestChanges, digestNone, listChanged } from './changed-files.ts';
import { type Claim, withClaim } from './claim.ts';
import { mergeBranch } from './merge-branch.ts';
import { applyToNewest, chooseVersionName } from './publish-changes.ts';
import { renderPatch } from './unified-diff.ts';

export interface ChangeServices extends CopyServices {
  clock: Clock;
  leases: Leases;
  readPipeline: PipelineReader;
  review: Reviewer;
}

type MergeCall = LongCall<typeof mergeAiTask>;
type DiscardCall = LongCall<typeof discardAiTask>;

export function aiChangesRoutes(endpoints: Endpoints, services: ChangeServices): void {
  const ofTask = endpoints.within(createPlaceFinder(services.database));

  ofTask.read(getAiTaskChanges, async ({ params, rows, scope }) => {
    const taskId = toUuid(params.taskId);
    const { copy: row } = await readTask(rows, params.taskId);
    const runs = await listRuns(services.database.read, { ...scope, taskId }, shownRunLimit);
    const shown = runs.map(({ execution_id, kind, started_at, name, status }) => ({
      executionId: execution_id,
      kind,
      ...(name === null ? {} : { name }),
      ...(status === null ? {} : { status }),
      startedAt: started_at.toISOString(),
    }));
    if (row === null) {
      const none = presentNone(taskId);
      return { body: { ...none, runs: shown }, etag: `"${none.digest}"` };
    }
    const changed = await listChanged(services, row);
    const { accountId } = scope;
    const { checked } = await judgeCopy(services, { accountId, rows }, await readCopy(services, row));
    const { warnings: findings, warningsTotal: findingsTotal } = checked.summary;
    const digest = digestChanges(row, changed);
    const copy = { ...presentCopy(taskId, row), digest, ...presentFiles(changed) };
    return { body: { ...copy, findings, findingsTotal, runs: shown }, etag: `"${digest}"` };
  });

  ofTask.long(mergeAiTask, async (call) => {
    const content = JSON.stringify(call.body);
    const task = await readTask(call.rows, call.params.taskId);
    const earlier = await call.findEarlierAnswer(content);
    if (earlier !== undefined) return earlier;
    const seen = { ifMatch: call.headers['If-Match'], digest: call.body.digest };
    const shownBy = `GET /dpc/v1/ai/agents/tasks/${call.params.taskId}/changes`;
    requireNamed(seen, shownBy);
    return withClaim(services, describeClaim(call), async ({ row, held }) => {
      const changed = await listChanged(services, row);
      requireSeen(seen, digestChanges(row, changed), shownBy);
      if (changed.length === 0) throw problem('ai-task-no-changes', { id: call.params.taskId });
      const merge = { call, content, task, row, held, changed };
      return row.source_branch === null
        ? publishChanges(services, merge)
        : mergeIntoBranch(services, merge, task.caller_name);
    });
  });

  ofTask.long(discardAiTask, (call) => discardChanges(services, call));
}

/** Throws `ai-task-not-found`. */
async function readTask(rows: ReadCall<never>['rows'], id: string) {
  return requireRow(await rows(taskWithCopy, { task_id: toUuid(id) }), () =>
    problem('ai-task-not-found', { id }),
  );
}

function describeClaim({ scope, params: { taskId: id } }: MergeCall | DiscardCall) {
  return { key: { accountId: scope.accountId, taskId: toUuid(id) }, id };
}

/** Closes the changes in the transaction of the answer. @throws `ai-task-changes-closed` if the lease was lost */
async function requireClosed(
  tx: Transaction,
  { row, held }: Claim,
  state: 'MERGED' | 'DISCARDED',
  now: Date,
): Promise<void> {
  await closeCopy(tx, row, held, { state, now }).catch((failure: unknown) => {
    throw failure instanceof LeaseLost
      ? problem('ai-task-changes-closed', { id: row.task_id, state: 'deleted' })
      : failure;
  });
}

interface Merge extends Claim {
  call: MergeCall;
  content: string;
  task: TaskDescription;
  changed: readonly ChangedFile[];
}

const defaultMessage = (row: CopyRow) => row.message ?? `Merge the changes of AI task ${row.task_id}`;

async function mergeIntoBranch(
  services: ChangeServices,
  merge: Merge,
  callerName: string,
): Promise<Answered> {
  const { call, content, task, row, changed } = merge;
  const { scope, requestId, now, body } = call;
  const place = { accountId: row.account_id, projectId: row.project_id };
  const { uncommitted } = await readCopy(services, row);
  const merger = {
    by: { scope, requestId },
    name: callerName,
    message: body.message ?? defaultMessage(row),
    isCommitted: uncommitted.size === 0,
    now,
  };
  const commitId = await services.repositories.withRepository(place, (opened) =>
    mergeBranch(opened, row, changed, merger),
  );
  return call.write(content, async (tx) => {
    await requireClosed(tx, merge, 'MERGED', now);
    const after = { branchName: row.source_branch ?? '', commitId };
    return {
      body: { taskId: row.task_id, state: 'MERGED' as const, ...after },
      events: [buildTaskEvent('ai-task-merged', row.task_id, task, { after })],
    };
  });
}

async function publishChanges(services: ChangeServices, merge: Merge): Promise<Answered> {
  const { call, content, task, row, changed } = merge;
  const { scope, now, rows, body } = call;
  const versionName = body.versionName ?? (await chooseVersionName(rows, row));
  const environmentName = row.environment_name ?? '';
  const found = await rows(environmentToUploadTo, { environment_name: environmentName });
  const { newest_manifest: _, ...gate } = requireRow(found, () =>
    problem('environment-not-found', { name: environmentName }),
  );
  const { copy, base } = await applyToNewest(services, rows, row, changed);
  return services.blobs.writeBlobs(row.account_id, base, async (writer) => {
    const by = { accountId: row.account_id, rows };
    const retained = createRetainedFiles();
    const { upload, checked } = await judgeCopy(services, by, copy, writer, retained.retain);
    const version = {
      ...{ projectId: row.project_id, environmentName, versionName },
      branch: null,
      commitHash: null,
    };
    const gated = { accountId: row.account_id, ...version, gate };
    const errors = await passGate(services.review, gated, retained.getSource);
    return call.write(content, async (tx) => {
      const published = await publishVersion(
        tx,
        scope,
        { version, upload, checked, gate, isStrict: false },
        now,
      );
      await requireClosed(tx, merge, 'MERGED', now);
      const after = { environmentName, versionName };
      return {
        ...(errors.length === 0 ? {} : { warning: describeGateErrors(errors.length) }),
        body: { taskId: row.task_id, state: 'MERGED' as const, ...after },
        events: [...published.events, buildTaskEvent('ai-task-merged', row.task_id, task, { after })],
      };
    });
  });
}

async function discardChanges(services: ChangeServices, call: DiscardCall): Promise<Answered> {
  const { params, rows, scope, requestId, now } = call;
  const task = await readTask(rows, params.taskId);
  const earlier = await call.findEarlierAnswer('');
  if (earlier !== undefined) return earlier;
  return withClaim(services, describeClaim(call), async (claim) => {
    const { task_id: taskId } = claim.row;
    await deleteOwnBranch(services, claim.row, { scope, requestId });
    return call.write('', async (tx) => {
      await requireClosed(tx, claim, 'DISCARDED', now);
      const after = { state: 'DISCARDED' as const };
      return {
        body: { taskId, ...after },
        events: [buildTaskEvent('ai-task-discarded', taskId, task, { after })],
      };
    });
  });
}

/**
 * @throws `ai-task-changes-committed`, `branch-is-protected`, and `branch-has-moved` if there are commits of others
 * on it
 */
async function deleteOwnBranch(
  { repositories }: ChangeServices,
  row: CopyRow,
  by: { scope: DiscardCall['scope']; requestId: string },
): Promise<void> {
  const { branch, commit_id: commitId } = row;
  if (row.is_branch_made !== true && branch !== null && commitId !== null)
    throw problem('ai-task-changes-committed', { branch, commitId });
  if (row.is_branch_made !== true || branch === null) return;
  const place = { accountId: row.account_id, projectId: row.project_id };
  await repositories.withRepository(place, async (opened) => {
    const name = `refs/heads/${branch}`;
    const head = await opened.content.findCommitId(name);
    // Deleted before, perhaps by an attempt of this request.
    if (head === undefined) return;
    if (isBranchProtected(opened, branch)) throw problem('branch-is-protected', { branch });
    const isOwn = head === (row.commit_id ?? row.start_commit);
    if (!isOwn || !(await opened.move(by, { name, from: head, to: null })))
      throw problem('branch-has-moved', { branch, head });
  });
}

const nothing = { files: [], filesTotal: 0, patch: '', isCut: false, findings: [], findingsTotal: 0 };

const presentNone = (taskId: string) => ({
  taskId,
  digest: digestNone(taskId),
  state: 'NONE' as const,
  ...nothing,
});

function presentCopy(
  taskId: string,
  row: CopyRow,
): Omit<
  AiTaskChanges,
  'digest' | 'files' | 'filesTotal' | 'patch' | 'isCut' | 'findings' | 'findingsTotal' | 'runs'
> {
  return {
    taskId,
    state: row.state,
    ...(row.source_branch === null ? {} : { sourceBranchName: row.source_branch }),
    ...(row.branch === null ? {} : { branchName: row.branch }),
    ...(row.start_commit === null ? {} : { startCommitId: row.start_commit }),
    ...(row.commit_id === null ? {} : { commitId: row.commit_id }),
    ...(row.environment_name === null ? {} : { environmentName: row.environment_name }),
    ...(row.version_name === null ? {} : { startVersionName: row.version_name }),
    ...(row.message === null ? {} : { message: row.message }),
  };
}

function presentFiles(changed: readonly ChangedFile[]) {
  const files = changed
    .slice(0, shownFileLimit)
    .map(({ path, change, isCommitted }) => ({ path, change, isCommitted }));
  let patch = '';
  let isCut = changed.length > shownFileLimit;
  for (const { path, before, after } of changed.slice(0, shownFileLimit)) {
    const next = renderPatch(path, before, after);
    if (patch.length + next.length > shownPatchLimit) isCut = true;
    else patch += next;
  }
  return { files, filesTotal: changed.length, patch, isCut };
}
