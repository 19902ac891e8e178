import {
  cancelBackfill,
  createBackfill,
  getBackfill,
  listBackfills,
  type WorkCommand,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import type { QueueLimit } from '../../kernel/work/queued-runs.ts';
import type { WorkTimes } from '../../kernel/work/work.ts';
import { requirePermissionIn } from '../../workspace/environments/index.ts';
import { cancelRunsOfBackfill } from '../executions/index.ts';
import {
  haveSameTimes,
  lockSchedule,
  requireRunnable,
  requireTimetable,
  scheduleById,
} from '../schedules/index.ts';
import {
  backfillById,
  backfillPage,
  insertBackfill,
  lockBackfill,
  moveBackfills,
  presentBackfill,
  readProblem,
  requireRoomForBackfill,
} from './backfill.store.ts';
import { chooseTicks, countTicks, readRange } from './backfill.ts';
import { buildBackfillEvent } from './backfill-event.ts';

export interface BackfillServices {
  wakes: Wakes;
  times: WorkTimes;
  config: QueueLimit;
}

export function backfillRoutes(
  { read, write }: Endpoints,
  { wakes, times, config: limits }: BackfillServices,
): void {
  write(createBackfill, async ({ tx, rows, scope, params, body, now, newId }) => {
    const { projectId, scheduleId } = params;
    const range = readRange(body, now);
    const found = await rows(scheduleById, { schedule_id: toUuid(scheduleId) });
    const read = requireRow(found, () => problem('schedule-not-found', { id: scheduleId }));
    // Finding thousands of ticks takes time, so it comes before the transaction.
    const ticks = await chooseTicks(requireTimetable(read, 'the schedule'), range);
    const schedule = await lockSchedule(tx, scope, projectId, scheduleId);
    if (!haveSameTimes(read, schedule)) throw problem('concurrent-change');
    const place = { projectId, now, at: 'the schedule', limits };
    const { userName } = await requireRunnable(tx, scope, place, schedule);
    await requireRoomForBackfill(tx, scope, projectId);
    const [firstTick, lastTick] = [ticks.at(0), ticks.at(-1)];
    if (firstTick === undefined || lastTick === undefined) throw new Error('A range has no tick.');
    const backfillId = newId();
    const { concurrency = 1 } = body;
    insertBackfill(
      tx,
      scope,
      {
        ...{
          backfillId,
          projectId,
          scheduleId: schedule.schedule_id,
          ...range,
          concurrency,
          ticks,
          userName,
        },
        environmentName: schedule.environment_name,
      },
      now,
    );
    const made = {
      backfillId,
      ticks: ticks.length,
      firstTick: firstTick.toISOString(),
      lastTick: lastTick.toISOString(),
    };
    const key = {
      project_id: projectId,
      environment_name: schedule.environment_name,
      backfill_id: backfillId,
      schedule_id: schedule.schedule_id,
    };
    const after = { ...made, from: range.from, to: range.to, concurrency, status: 'RUNNING' };
    return {
      body: made,
      location: `/v1/projects/${projectId}/schedules/${schedule.schedule_id}/backfills/${backfillId}`,
      events: [buildBackfillEvent('backfill-created', key, schedule.name, { after })],
    };
  });

  read(listBackfills, async ({ params, query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const id = params.scheduleId;
    const parameters = { schedule_id: toUuid(id), status: query.status ?? null, limit, offset };
    const { rows, total } = await page(backfillPage, parameters);
    if (total === null) throw problem('schedule-not-found', { id });
    return { body: { page: query.page, results: rows.map(presentBackfill), size: limit, total } };
  });

  read(getBackfill, async ({ params, rows }) => {
    const id = params.backfillId;
    const found = await rows(backfillById, {
      schedule_id: toUuid(params.scheduleId),
      backfill_id: toUuid(id),
    });
    const row = requireRow(found, () => problem('backfill-not-found', { id }));
    const progress = { status: row.status, tickCount: row.tick_count, startedCount: row.started_count };
    const counts = row.counts ?? countTicks(progress, row.runs ?? {});
    return { body: { ...presentBackfill(row), counts } };
  });

  write(cancelBackfill, async ({ tx, scope, params, body, now }) => {
    const { projectId, backfillId: id } = params;
    const row = await lockBackfill(tx, scope, params);
    await requirePermissionIn(tx, scope, projectId, row.environment_name, cancelBackfill.permission, now);
    if (row.ended_at !== null) throw problem('backfill-not-running', { id, status: row.status });
    const command: WorkCommand = body.forceUpdate ? 'force-cancel' : 'cancel';
    const cancel = { command, now, wakes, times };
    const cancelled = await cancelRunsOfBackfill(tx, scope, row.backfill_id, cancel);
    const status = 'STOPPING' as const;
    const moved = {
      accountId: scope.accountId,
      backfillId: row.backfill_id,
      status,
      startedCount: row.started_count,
      nextRoundAt: now,
      // Why a backfill of a caller without rights is stopping stays true.
      problem: row.status === 'STOPPING' ? readProblem(row) : undefined,
      counts: undefined,
    };
    moveBackfills(tx, [moved], now);
    const key = { ...row, project_id: projectId };
    const states = { before: { status: row.status }, after: { status, command } };
    const event = buildBackfillEvent('backfill-cancelled', key, row.schedule_name, states);
    return { body: { backfillId: row.backfill_id, status }, events: [event, ...cancelled] };
  });
}
