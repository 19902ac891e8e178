/** What the writes of a schedule have in common. */
import type { BodyOf, Schedule, updateSchedule } from '@headgate/contract';
import { renderPipelinePath } from '../../../delivery/artifacts/index.ts';
import { statement, type Transaction } from '../../../kernel/database/database.ts';
import type { AccountEvent } from '../../../kernel/database/events.ts';
import type { Scope } from '../../../kernel/security/permissions.ts';
import type { QueueLimit } from '../../../kernel/work/queued-runs.ts';
import { requirePermissionIn } from '../../../workspace/environments/index.ts';
import { type FoundStart, findStarts } from '../../executions/index.ts';
import {
  presentSchedule,
  renderScheduleEtag,
  type ScheduleRow,
  updateScheduleRow,
} from './schedule.store.ts';
import { applyPatch, createWantedStart, findFirstTick } from './schedule.ts';
import { requireInterval, type ScheduleLimits, warnOfInterval } from './shortest-interval.ts';

const selectName = statement(
  { parameters: { account_id: 'uuid', principal_id: 'uuid' }, row: { name: 'text' } },
  'select name from principal where account_id = $account_id and principal_id = $principal_id',
);

/** The name of the caller. */
export async function readCallerName(tx: Transaction, { accountId, actorId }: Scope): Promise<string> {
  const [row] = await tx.query(selectName, { account_id: accountId, principal_id: actorId });
  return row?.name ?? '';
}

interface Checked {
  projectId: string;
  now: Date;
  /** Where the variables are in the request, for the problems. */
  at: string;
  /** As the request names it, for the problem. */
  agentId?: string | undefined;
  limits: QueueLimit;
}

export type Runnable = Extract<FoundStart, { problem?: undefined }> & {
  pipelineName: string;
  userName: string;
};

/**
 * Checks what a start of the pipeline by the caller would check. Throws `forbidden` and the problems of a
 * start.
 */
export async function requireRunnable(
  tx: Transaction,
  scope: Scope,
  { projectId, now, at, agentId, limits }: Checked,
  row: ScheduleRow,
): Promise<Runnable> {
  const place = { accountId: scope.accountId, projectId };
  const request = { ...createWantedStart(row, place), ...(agentId ? { agentId } : {}) };
  const [[found], userName] = await Promise.all([
    findStarts(tx.query, [request], at, limits, now),
    readCallerName(tx, scope),
  ]);
  if (found === undefined) throw new Error('A start was not judged.');
  if (found.problem?.code !== 'environment-not-found')
    await requirePermissionIn(tx, scope, projectId, row.environment_name, 'environment:run', now);
  if (found.problem !== undefined) throw found.problem;
  return { ...found, userName, pipelineName: renderPipelinePath(found.start.pipeline) };
}

interface Patching {
  projectId: string;
  stored: ScheduleRow;
  body: BodyOf<typeof updateSchedule>;
  now: Date;
  limits: ScheduleLimits;
}

/** Writes a patch of a locked schedule, and answers it. */
export async function patchSchedule(
  tx: Transaction,
  scope: Scope,
  { projectId, stored, body, now, limits }: Patching,
): Promise<{ body: Schedule; etag: string; warning?: string; events: AccountEvent[] }> {
  const { row, isRetimed } = applyPatch(stored, body, scope.actorId);
  if (row.enabled || namesStart(body)) {
    const { agentId } = body;
    const { userName } = await requireRunnable(
      tx,
      scope,
      { projectId, now, at: 'body', agentId, limits },
      row,
    );
    row.user_name = userName;
    // It can run now. Its next tick says whether it still can.
    row.problem_code = row.problem_detail = row.problem_since = null;
  } else {
    row.user_name = await readCallerName(tx, scope);
  }
  if (isRetimed) {
    const tick = row.enabled || isTimed(body) ? findFirstTick(row, now, 'body') : undefined;
    if (isTimed(body)) requireInterval(row, tick, 'body', limits);
    row.next_tick_at = row.enabled ? (findDueTick(stored, row, now) ?? tick ?? null) : null;
    row.timed_at = now;
  }
  updateScheduleRow(tx, scope, row);
  const states = { before: presentSchedule(stored), after: presentSchedule(row) };
  return {
    body: states.after,
    etag: renderScheduleEtag(row),
    ...warnOfInterval(row, now, limits),
    events: [buildScheduleEvent('schedule-updated', projectId, row, states)],
  };
}

/** A tick that has come and is not handled yet: a change of the times must not lose it. */
function findDueTick(stored: ScheduleRow, row: ScheduleRow, now: Date): Date | undefined {
  const { next_tick_at: due } = stored;
  if (!stored.enabled || due === null || due > now) return undefined;
  return row.effective_from === null || row.effective_from <= due ? due : undefined;
}

/** Whether a patch names what must exist: then it is checked, even if the schedule is not enabled. */
function namesStart({ versionName, agentId, scalarVariables, gridVariables }: Patching['body']): boolean {
  const variables = [...Object.keys(scalarVariables ?? {}), ...Object.keys(gridVariables ?? {})];
  return Boolean(versionName || agentId) || variables.length > 0;
}

/** Whether a patch says when the schedule runs: then it must run at some time, even if it is not enabled. */
function isTimed(body: Patching['body']): boolean {
  const { cronExpression, intervalExpression, cronTimezone, effectiveFrom } = body;
  return [cronExpression, intervalExpression, cronTimezone, effectiveFrom].some(
    (input) => input !== undefined,
  );
}

export function buildScheduleEvent(
  name: AccountEvent['name'],
  projectId: string,
  row: Pick<ScheduleRow, 'schedule_id' | 'name' | 'environment_name'>,
  states: { before?: object; after?: object },
): AccountEvent {
  return {
    name,
    projectId,
    environmentName: row.environment_name,
    subject: { type: 'schedule', id: row.schedule_id, name: row.name },
    ...states,
  };
}
