/**
 * What becomes of one due schedule.
 *
 * A tick is late when no server handled it in time: after an outage, or after the clock was set forward. Then
 * only the latest tick that is due runs, and its run says so.
 */

import type { AccountEvent } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { readTimeOfId } from '../../kernel/identifiers.ts';
import { buildRunEvent, type FoundStart, type NewRun } from '../executions/index.ts';
import type { DueRow, HandledTick, ScheduleFacts } from './due-schedule.store.ts';
import { expressionProblem, readTimetable } from './schedule/schedule.ts';
import { buildScheduleEvent } from './schedule/schedule-write.ts';
import { createScheduledRun } from './scheduled-run.ts';
import { nextTickAfter, type Timetable } from './timetable/timetable.ts';

/** From this lateness on, earlier ticks are not made up for. */
export const lateMilliseconds = 60_000;

/** The code of ticks that no server handled in time. */
export const lateCode = 'late';

export type TickResult = 'fired' | 'skipped' | 'forbidden' | 'missed';

export interface TickOutcome {
  result: TickResult;
  handled: HandledTick;
  run: NewRun | undefined;
  events: AccountEvent[];
}

interface Due {
  row: DueRow;
  facts: ScheduleFacts;
  found: FoundStart;
  /** The queue of the environment has no room. */
  isFull: boolean;
}

export function handleTick({ row, facts, found, isFull }: Due, now: Date, newId: NewId): TickOutcome {
  const { timetable, fault } = readTimetable(row);
  const due = row.next_tick_at ?? now;
  const tick = timetable === undefined ? due : chooseTick(timetable, due, now);
  const nextTick = timetable && nextTickAfter(timetable, tick);
  const states = { accountId: row.account_id, scheduleId: row.schedule_id, tick, nextTick };
  const passed = tick > due ? [describePassedTicks(row, due, tick)] : [];

  /** No run: the schedule says why, and each such tick leaves an event. */
  function miss(code: string, detail: string): TickOutcome {
    const problem = createProblem(row, code, detail, tick);
    const after = { tick: tick.toISOString(), code, detail, since: problem.since.toISOString() };
    const missed = buildScheduleEvent('schedule-tick-missed', row.project_id, row, { after });
    const handled = { ...states, ranAt: undefined, problem };
    return { result: 'missed', handled, run: undefined, events: [...passed, missed] };
  }

  if (fault !== undefined) return miss(expressionProblem, `${fault.field}: ${fault.message}`);
  if (found.problem !== undefined) return miss(found.problem.code, found.problem.message);

  const { result, message, problem } = judgeRun(row, facts, isFull, tick);
  const run = createScheduledRun(row, { accountId: row.account_id, projectId: row.project_id }, found, {
    executionId: newId(),
    trigger: 'SCHEDULE',
    userName: row.user_name,
    requestedBy: row.written_by,
    scheduleTick: tick,
    status: statusOf[result],
    message: message ?? describeLateness(due, tick, now),
  });
  const events = [...passed, buildRunEvent(run)];
  if (row.problem_code !== null && problem === undefined) {
    const after = { tick: tick.toISOString(), problem: row.problem_code };
    events.push(buildScheduleEvent('schedule-recovered', row.project_id, row, { after }));
  }
  const ranAt = result === 'fired' ? readTimeOfId(run.executionId) : undefined;
  return { result, handled: { ...states, ranAt, problem }, run, events };
}

const statusOf = { fired: 'RUNNING', skipped: 'SKIPPED', forbidden: 'FORBIDDEN' } as const;

interface Judged {
  result: keyof typeof statusOf;
  message?: string;
  problem?: HandledTick['problem'];
}

function judgeRun(row: DueRow, facts: ScheduleFacts, isFull: boolean, tick: Date): Judged {
  if (!facts.is_permitted) {
    const who = row.user_name === null ? 'The deleted caller' : JSON.stringify(row.user_name);
    const message = `${who}, which last wrote the schedule, no longer has permission to run pipelines in the environment ${JSON.stringify(row.environment_name)}.`;
    const remedy =
      'A caller with this permission can update or resume the schedule: then it runs with the rights of that caller.';
    const problem = createProblem(row, 'forbidden', `${message} ${remedy}`, tick);
    return { result: 'forbidden', message, problem };
  }
  if (facts.unended_run !== null)
    return {
      result: 'skipped',
      message: `The schedule does not allow concurrent executions, and its execution ${facts.unended_run} had not ended.`,
    };
  if (isFull)
    return {
      result: 'skipped',
      message: `The queue of the environment ${JSON.stringify(row.environment_name)} is full: as many of its runs wait for an agent as may wait.`,
    };
  return { result: 'fired' };
}

/** The same problem as before keeps its first time. */
function createProblem(row: DueRow, code: string, detail: string, tick: Date) {
  const since = row.problem_code === code && row.problem_since !== null ? row.problem_since : tick;
  return { code, detail, since };
}

/** The tick that is due, or, if that is late, the latest one up to now. */
function chooseTick(timetable: Timetable, due: Date, now: Date): Date {
  if (now.getTime() - due.getTime() < lateMilliseconds) return due;
  let latest = due;
  let end = now.getTime();
  // Halves the time in which a later tick may be, because there may be millions of ticks.
  while (end - latest.getTime() >= 1_000) {
    const middle = Math.floor((latest.getTime() + end) / 2);
    const tick = nextTickAfter(timetable, new Date(middle));
    if (tick !== undefined && tick <= now) latest = tick;
    else end = middle;
  }
  return latest;
}

function describeLateness(due: Date, tick: Date, now: Date): string | null {
  if (now.getTime() - due.getTime() < lateMilliseconds) return null;
  const late = `Catch-up run: no server handled the tick at ${tick.toISOString()} in time.`;
  return tick > due ? `${late} The earlier ticks since ${due.toISOString()} did not run.` : late;
}

/** One event for all ticks that a catch-up run stands for. */
function describePassedTicks(row: DueRow, due: Date, tick: Date): AccountEvent {
  const detail = `No server handled the ticks from ${due.toISOString()} to before ${tick.toISOString()} in time; the run of the latter stands for all of them.`;
  const since = due.toISOString();
  const after = { tick: since, before: tick.toISOString(), code: lateCode, detail, since };
  return buildScheduleEvent('schedule-tick-missed', row.project_id, row, { after });
}
