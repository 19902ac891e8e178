import type { Clock } from '../../kernel/clock.ts';
import { type Database, statement } from '../../kernel/database/database.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import { createRemovalJob, type PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { firstIdAt, oldRows, type RetentionRule } from '../../kernel/retention/retention.ts';

const oldTasks = oldRows({
  table: 'ai_task',
  key: ['task_id'],
  cursorType: 'uuid',
  old: (time) =>
    `r.task_id < ${firstIdAt(time)} and r.modified_at < ${time} and r.status in ('STOPPED', 'ERRORED')`,
});

/** Tasks that have ended, with their messages. @param days undefined keeps them forever */
export function createTaskRetention(days: number | undefined): RetentionRule {
  return { kind: 'ai-tasks', days, ...oldTasks };
}

const removalBatch = 500;
const usageDays = 400;
const removeUsage = statement(
  { parameters: { now: 'timestamptz' }, row: { removed: 'integer' }, alone: true },
  `
  with gone as (
    delete from ai_usage where ctid = any (array(
      select ctid from ai_usage where used_on < ($now at time zone 'UTC')::date - ${usageDays}
      order by used_on limit ${removalBatch}))
    returning true
  )
  select count(*)::integer as removed from gone`,
);

/** What accounts used is kept for somewhat more than a year. */
export function createUsageRemoval(services: {
  database: Database;
  metrics: Metrics;
  clock: Clock;
}): PeriodicJob {
  return createRemovalJob(services, {
    kind: 'ai-usage',
    batch: removalBatch,
    remove: async (read, now) => (await read(removeUsage, { now }))[0]?.removed ?? 0,
  });
}
