import {
  createSchedule,
  deleteSchedule,
  getSchedule,
  listSchedules,
  scheduleLimit,
  updateSchedule,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import {
  countSchedules,
  deleteScheduleRow,
  insertSchedule,
  lockSchedule,
  presentSchedule,
  renderScheduleEtag,
  requireNoBackfill,
  type ScheduleRow,
  scheduleById,
  schedulePage,
} from './schedule/schedule.store.ts';
import { findFirstTick, readExpression, readTimezone } from './schedule/schedule.ts';
import { buildScheduleEvent, patchSchedule, requireRunnable } from './schedule/schedule-write.ts';
import { requireInterval, type ScheduleLimits, warnOfInterval } from './schedule/shortest-interval.ts';

export function scheduleRoutes(
  { read, write }: Endpoints,
  { config: limits }: { config: ScheduleLimits },
): void {
  read(listSchedules, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(schedulePage, {
      environment_name: query.environmentName ?? null,
      pipeline_part: query.pipelineName?.toLowerCase() ?? null,
      name_part: query.name?.toLowerCase() ?? null,
      limit,
      offset,
    });
    return { body: { page: query.page, results: rows.map(presentSchedule), size: limit, total } };
  });

  read(getSchedule, async ({ params, rows, now }) => {
    const id = params.scheduleId;
    const row = requireRow(await rows(scheduleById, { schedule_id: toUuid(id) }), () =>
      problem('schedule-not-found', { id }),
    );
    return { body: presentSchedule(row), etag: renderScheduleEtag(row), ...warnOfInterval(row, now, limits) };
  });

  write(createSchedule, async ({ tx, rows, scope, params, body, now, newId }) => {
    const { projectId } = params;
    const { pipeline } = body;
    const schedule = readTimezone(body.schedule, 'body.schedule');
    const expression = readExpression(schedule, 'body.schedule');
    if (expression === undefined)
      throw problem('schedule-expressions', { field: 'body.schedule', isMissing: true });
    const [few] = await rows(countSchedules, { most: scheduleLimit });
    if (few !== undefined && few.count >= scheduleLimit)
      throw problem('too-many-schedules', { limit: scheduleLimit });
    const draft: ScheduleRow = {
      ...expression,
      schedule_id: newId(),
      name: schedule.name,
      environment_name: pipeline.environmentName,
      pipeline_name: pipeline.pipelineName,
      version_name: pipeline.versionName ?? null,
      agent_id: pipeline.agentId === undefined ? null : toUuid(pipeline.agentId),
      cron_timezone: schedule.cronTimezone ?? 'UTC',
      effective_from: schedule.effectiveFrom === undefined ? null : new Date(schedule.effectiveFrom),
      enabled: schedule.scheduleEnabled ?? true,
      allows_concurrent: schedule.allowConcurrentExecutions ?? true,
      scalar_variables: pipeline.scalarVariables ?? {},
      grid_variables: pipeline.gridVariables ?? {},
      written_by: scope.actorId,
      user_name: null,
      next_tick_at: null,
      timed_at: now,
      last_tick_at: null,
      last_run_at: null,
      problem_code: null,
      problem_detail: null,
      problem_since: null,
      version: 1,
      created_at: now,
    };
    // Also of one that is not enabled yet: an expression that never fires is a mistake.
    const firstTick = findFirstTick(draft, now, 'body.schedule');
    requireInterval(draft, firstTick, 'body.schedule', limits);
    const start = await requireRunnable(
      tx,
      scope,
      { projectId, now, at: 'body.pipeline', agentId: pipeline.agentId, limits },
      draft,
    );
    const row = {
      ...draft,
      pipeline_name: start.pipelineName,
      user_name: start.userName,
      next_tick_at: draft.enabled ? firstTick : null,
    };
    insertSchedule(tx, scope, projectId, row);
    const after = presentSchedule(row);
    return {
      body: {
        scheduleId: row.schedule_id,
        cronTimezone: row.cron_timezone,
        ...(row.next_tick_at === null ? {} : { nextRunAt: row.next_tick_at.toISOString() }),
      },
      etag: renderScheduleEtag(row),
      location: `/v1/projects/${projectId}/schedules/${row.schedule_id}`,
      events: [buildScheduleEvent('schedule-created', projectId, row, { after })],
    };
  });

  write(updateSchedule, async ({ tx, scope, params, headers, body, now }) => {
    const { projectId } = params;
    const stored = await lockSchedule(tx, scope, projectId, params.scheduleId);
    requireMatch(headers['If-Match'], renderScheduleEtag(stored));
    const patch = readTimezone(body, 'body');
    return patchSchedule(tx, scope, { projectId, stored, body: patch, now, limits });
  });

  write(deleteSchedule, async ({ tx, scope, params, headers }) => {
    const { projectId, scheduleId } = params;
    const stored = await lockSchedule(tx, scope, projectId, scheduleId);
    requireMatch(headers['If-Match'], renderScheduleEtag(stored));
    await requireNoBackfill(tx, scope, stored);
    tx.send(deleteScheduleRow, { account_id: scope.accountId, schedule_id: stored.schedule_id });
    const before = presentSchedule(stored);
    return { events: [buildScheduleEvent('schedule-deleted', projectId, stored, { before })] };
  });
}
