/** The next ticks of a schedule; pausing, resuming and running it now. */
import { listScheduleTicks, pauseSchedule, resumeSchedule, runSchedule } from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { readTimeOfId, toUuid } from '../../kernel/identifiers.ts';
import { requireQueuePlace } from '../../kernel/work/queued-runs.ts';
import { requireBudget } from '../../records/budgets/index.ts';
import { buildRunEvent, insertRuns } from '../executions/index.ts';
import { findUnendedRun, lockSchedule, recordRunNow, scheduleById } from './schedule/schedule.store.ts';
import { listTicksFrom } from './schedule/schedule.ts';
import { patchSchedule, requireRunnable } from './schedule/schedule-write.ts';
import type { ScheduleLimits } from './schedule/shortest-interval.ts';
import { createScheduledRun } from './scheduled-run.ts';

export function scheduleControlRoutes(
  { read, write }: Endpoints,
  { wakes, config: limits }: { wakes: Wakes; config: ScheduleLimits },
): void {
  read(listScheduleTicks, async ({ params, query, rows, now }) => {
    const id = params.scheduleId;
    const row = requireRow(await rows(scheduleById, { schedule_id: toUuid(id) }), () =>
      problem('schedule-not-found', { id }),
    );
    const from = query.from === undefined ? undefined : new Date(query.from);
    const ticks = listTicksFrom(row, now, query.count, from);
    const renderLocalTime = createLocalTimes(row.cron_timezone);
    const results = ticks.map((tick) => ({ tick: tick.toISOString(), localTime: renderLocalTime(tick) }));
    return { body: { cronTimezone: row.cron_timezone, results } };
  });

  write(runSchedule, async ({ tx, scope, params, now, newId }) => {
    const { projectId, scheduleId } = params;
    // From here on no tick of the schedule starts a run until this one is written.
    const stored = await lockSchedule(tx, scope, projectId, scheduleId);
    const found = await requireRunnable(tx, scope, { projectId, now, at: 'the schedule', limits }, stored);
    requireBudget(found.start.budgetStop, now);
    requireQueuePlace(found.start.queuedRuns, stored.environment_name, limits);
    if (!stored.allows_concurrent) {
      const running = await findUnendedRun(tx, scope, stored.schedule_id);
      if (running !== undefined) throw problem('schedule-running', { name: stored.name, id: running });
    }
    const place = { accountId: scope.accountId, projectId };
    const run = createScheduledRun(stored, place, found, {
      executionId: newId(),
      trigger: 'SCHEDULE_RUN_NOW',
      userName: found.userName,
      requestedBy: scope.actorId,
    });
    insertRuns(tx, [run], now, wakes);
    tx.send(recordRunNow, {
      account_id: scope.accountId,
      schedule_id: stored.schedule_id,
      at: readTimeOfId(run.executionId),
    });
    return {
      body: { pipelineExecutionId: run.executionId },
      location: `/v1/projects/${projectId}/pipeline-executions/${run.executionId}`,
      events: [buildRunEvent(run)],
    };
  });

  write(pauseSchedule, async ({ tx, scope, params: { projectId, scheduleId }, now }) => {
    const stored = await lockSchedule(tx, scope, projectId, scheduleId);
    return patchSchedule(tx, scope, { projectId, stored, body: { scheduleEnabled: false }, now, limits });
  });

  write(resumeSchedule, async ({ tx, scope, params: { projectId, scheduleId }, now }) => {
    const stored = await lockSchedule(tx, scope, projectId, scheduleId);
    return patchSchedule(tx, scope, { projectId, stored, body: { scheduleEnabled: true }, now, limits });
  });
}

/** ISO 8601 with the offset of the zone at that time: `2026-03-29T03:30:00+02:00`. */
function createLocalTimes(zone: string): (tick: Date) => string {
  const form = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'longOffset' },
  });
  return (tick) => {
    const parts = new Map(form.formatToParts(tick).map(({ type, value }) => [type, value]));
    const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? '';
    const offset = part('timeZoneName').replace('GMT', '') || '+00:00';
    return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}${offset}`;
  };
}
