/** What a round makes of one backfill: starts ticks as far as there is room, or ends it. */
import type { BackfillStatus } from '@headgate/contract';
import { addSeconds } from '../../kernel/clock.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Problem } from '../../kernel/http/problems.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { createQueueProblem, type QueueLimit } from '../../kernel/work/queued-runs.ts';
import { createBudgetProblem } from '../../records/budgets/index.ts';
import { buildRunEvent, type FoundStart, type NewRun } from '../executions/index.ts';
import { createScheduledRun, type ScheduleRow } from '../schedules/index.ts';
import { type MovedBackfill, readProblem } from './backfill.store.ts';
import { countTicks, findEnd } from './backfill.ts';
import { buildBackfillEvent } from './backfill-event.ts';
import { type BackfillFacts, blockedSeconds, type DueBackfill } from './due-backfill.store.ts';

const forbiddenCode = 'forbidden';

export interface RoundOutcome {
  moved: MovedBackfill;
  runs: NewRun[];
  events: AccountEvent[];
}

interface Due {
  row: DueBackfill;
  schedule: ScheduleRow;
  facts: BackfillFacts;
  found: FoundStart;
  /** Free places in the queue of the environment. */
  queueRoom: number;
  limits: QueueLimit;
}

/** Returns undefined if there is nothing to do. */
export function advanceBackfill(due: Due, now: Date, newId: NewId): RoundOutcome | undefined {
  const { row, facts } = due;
  const { RUNNING = 0, CANCELLING = 0, UNKNOWN = 0 } = facts.runs;
  const unended = RUNNING + CANCELLING + UNKNOWN;
  const room = row.concurrency - unended;
  if (row.status === 'RUNNING' && row.started_count < row.tick_count)
    return room > 0 ? startTicks(due, room, now, newId) : undefined;
  return unended === 0 ? endBackfill(due) : undefined;
}

function startTicks(due: Due, room: number, now: Date, newId: NewId): RoundOutcome {
  const { row, schedule, facts, found, queueRoom } = due;
  if (!facts.is_permitted) return forbidRest(due, now, newId);
  if (found.problem !== undefined || found.start.budgetStop !== null || queueRoom === 0) {
    const { code, message: detail } = describeBlock(due, now);
    const isKnown = row.problem_code === code;
    const since = (isKnown ? row.problem_since : undefined) ?? now;
    const after = { code, detail, tick: row.next_ticks[0]?.toISOString() };
    const events = isKnown ? [] : [buildBackfillEvent('backfill-blocked', row, schedule.name, { after })];
    const nextRoundAt = addSeconds(now, blockedSeconds);
    return { moved: createMove(row, { nextRoundAt, problem: { code, detail, since } }), runs: [], events };
  }
  const runs = row.next_ticks
    .slice(0, Math.min(room, queueRoom))
    .map((tick) => createRun(due, found, tick, newId));
  const events = runs.map(buildRunEvent);
  if (row.problem_code !== null) {
    const after = { problem: row.problem_code };
    events.unshift(buildBackfillEvent('backfill-unblocked', row, schedule.name, { after }));
  }
  const startedCount = row.started_count + runs.length;
  return { moved: createMove(row, { startedCount, nextRoundAt: now }), runs, events };
}

/** Why no tick of the backfill can start. */
function describeBlock({ row, found, limits }: Due, now: Date): Problem {
  if (found.problem !== undefined) return found.problem;
  const { budgetStop } = found.start;
  return budgetStop === null
    ? createQueueProblem(row.environment_name, limits.queuedRuns)
    : createBudgetProblem(budgetStop, now);
}

/** One run says why; the other ticks get none. */
function forbidRest(due: Due, now: Date, newId: NewId): RoundOutcome {
  const { row, found } = due;
  const environment = JSON.stringify(row.environment_name);
  const detail = `${JSON.stringify(row.user_name)}, which started the backfill, no longer has permission to run pipelines in the environment ${environment}. The ticks without a run do not run.`;
  const problem = { code: forbiddenCode, detail, since: now };
  const [tick] = row.next_ticks;
  const runs =
    found.problem !== undefined || tick === undefined
      ? []
      : [{ ...createRun(due, found, tick, newId), status: 'FORBIDDEN' as const, message: detail }];
  const startedCount = row.started_count + runs.length;
  const moved = createMove(row, { status: 'STOPPING', startedCount, nextRoundAt: now, problem });
  return { moved, runs, events: runs.map(buildRunEvent) };
}

function createRun({ row, schedule }: Due, found: Startable, tick: Date, newId: NewId): NewRun {
  const place = { accountId: row.account_id, projectId: row.project_id };
  return createScheduledRun(schedule, place, found, {
    executionId: newId(),
    trigger: 'SCHEDULE',
    userName: row.user_name,
    requestedBy: row.requested_by,
    scheduleTick: tick,
    backfillId: row.backfill_id,
  });
}
type Startable = Extract<FoundStart, { problem?: undefined }>;

function endBackfill({ row, schedule, facts }: Due): RoundOutcome | undefined {
  const progress = { status: row.status, tickCount: row.tick_count, startedCount: row.started_count };
  const status = findEnd(progress, row.problem_code === forbiddenCode);
  if (status === undefined) return undefined;
  const counts = countTicks({ ...progress, status }, facts.runs);
  const problem = status === 'FAILED' ? readProblem(row) : undefined;
  const event = buildBackfillEvent('backfill-ended', row, schedule.name, {
    before: { status: row.status },
    after: { status, counts, ...(problem === undefined ? {} : { message: problem.detail }) },
  });
  return { moved: createMove(row, { status, counts, problem }), runs: [], events: [event] };
}

function createMove(
  row: DueBackfill,
  to: Partial<MovedBackfill> & { status?: BackfillStatus },
): MovedBackfill {
  return {
    accountId: row.account_id,
    backfillId: row.backfill_id,
    status: row.status,
    startedCount: row.started_count,
    nextRoundAt: undefined,
    problem: undefined,
    counts: undefined,
    ...to,
  };
}
