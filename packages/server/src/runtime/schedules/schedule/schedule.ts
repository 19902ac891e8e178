/** The rules of a schedule: what it starts, when it is due, and how a PATCH changes it. */
import { type BodyOf, otherTimezones, type updateSchedule } from '@headgate/contract';
import { addSeconds } from '../../../kernel/clock.ts';
import { type Problem, problem } from '../../../kernel/http/problems.ts';
import { toUuid } from '../../../kernel/identifiers.ts';
import type { WantedStart } from '../../executions/index.ts';
import {
  findTicklessFault,
  listTicks,
  nextTickAfter,
  parseTimetable,
  type Timetable,
  type TimetableFault,
  type TimetableInput,
} from '../timetable/timetable.ts';
import type { ScheduleRow } from './schedule.store.ts';

type Expressions = Pick<BodyOf<typeof updateSchedule>, 'cronExpression' | 'intervalExpression'>;
type ExpressionColumns = Pick<ScheduleRow, 'cron_expression' | 'interval_length' | 'interval_unit'>;

/** The code of the problem of a schedule whose timetable cannot be read. It has no next tick until it is written. */
export const expressionProblem = 'schedule-expression';

/** What a start of the schedule's pipeline asks for. */
export function createWantedStart(
  row: ScheduleRow,
  place: { accountId: string; projectId: string },
): WantedStart {
  return {
    ...place,
    environmentName: row.environment_name,
    pipelineName: row.pipeline_name,
    ...(row.version_name === null ? {} : { versionName: row.version_name }),
    ...(row.agent_id === null ? {} : { agentId: row.agent_id }),
    scalarVariables: row.scalar_variables,
    gridVariables: row.grid_variables,
  };
}

/**
 * The expression of a request as columns; undefined without one. Throws `schedule-expressions` for both.
 *
 * @param at where the expressions are, for the problem
 */
export function readExpression(body: Expressions, at: string): ExpressionColumns | undefined {
  const { cronExpression, intervalExpression } = body;
  if (cronExpression !== undefined && intervalExpression !== undefined)
    throw problem('schedule-expressions', { field: at, isMissing: false });
  if (cronExpression !== undefined)
    return { cron_expression: cronExpression, interval_length: null, interval_unit: null };
  if (intervalExpression !== undefined) {
    const { interval, unit } = intervalExpression;
    return { cron_expression: null, interval_length: interval, interval_unit: unit };
  }
  return undefined;
}

function createTimetableInput(row: ScheduleRow): TimetableInput {
  const { cron_expression: cronExpression, interval_length: interval, interval_unit: unit } = row;
  return {
    ...(cronExpression === null ? {} : { cronExpression }),
    ...(interval === null || unit === null ? {} : { intervalExpression: { interval, unit } }),
    cronTimezone: row.cron_timezone,
    ...(row.effective_from === null ? {} : { effectiveFrom: row.effective_from }),
    createdAt: row.created_at,
  };
}

/** The timetable, or what is wrong with it: the database of time zones may have changed since it was written. */
export function readTimetable(row: ScheduleRow): ReturnType<typeof parseTimetable> {
  return parseTimetable(createTimetableInput(row));
}

/** Throws `schedule-expression`. */
export function requireTimetable(row: ScheduleRow, at: string): Timetable {
  const { timetable, fault } = readTimetable(row);
  if (timetable === undefined) throw createExpressionProblem(fault, at);
  return timetable;
}

/** No timetable has later ticks. */
const endOfTime = new Date(8.64e15);

/** Longer than the difference of clocks, and than a change to or from summer time. */
export const clockChangeSeconds = 7_200;

/**
 * The time after which the next tick of a schedule is: now, or a tick that was handled before the clock was set
 * back a little.
 */
function findTicksStart(lastTick: Date | null, now: Date): Date {
  const isNear = lastTick !== null && lastTick <= addSeconds(now, clockChangeSeconds);
  return isNear && lastTick > now ? lastTick : now;
}

/**
 * The first tick of a schedule that is written now. A tick that has been handled does not come again, even if
 * the clock was set back a little. Throws `schedule-expression`, also if there is no tick.
 *
 * @param at where the members of the schedule are, for the problem
 */
export function findFirstTick(row: ScheduleRow, now: Date, at: string): Date {
  const input = createTimetableInput(row);
  const { timetable, fault } = parseTimetable(input);
  if (timetable === undefined) throw createExpressionProblem(fault, at);
  const from = findTicksStart(row.last_tick_at, now);
  const tick = nextTickAfter(timetable, from);
  if (tick !== undefined) return tick;
  const tickless = findTicklessFault(timetable, input, from);
  if (tickless === undefined) throw new Error('A timetable without a next tick has no fault.');
  throw createExpressionProblem(tickless, at);
}

function createExpressionProblem({ field, message }: TimetableFault, at: string): Problem {
  return problem(expressionProblem, { field: `${at}.${field}`, reason: message });
}

type Patch = BodyOf<typeof updateSchedule>;

/** A schedule after a PATCH, and what must be checked. */
export interface PatchedSchedule {
  row: ScheduleRow;
  /** The ticks may have changed, so the next one must be found again. */
  isRetimed: boolean;
}

/** Throws `schedule-place-fixed` unless the pipeline and the environment are the present ones, if given. */
function requirePlaceKept(stored: ScheduleRow, { pipelineName, environmentName }: Patch): void {
  const names = [stored.pipeline_name, stored.pipeline_name.replace(/\.(orch|tran)\.yaml$/, '')];
  if (pipelineName !== undefined && !names.includes(pipelineName))
    throw problem('schedule-place-fixed', {
      member: 'pipelineName',
      value: pipelineName,
      stored: stored.pipeline_name,
    });
  if (environmentName !== undefined && environmentName !== stored.environment_name)
    throw problem('schedule-place-fixed', {
      member: 'environmentName',
      value: environmentName,
      stored: stored.environment_name,
    });
}

/** Throws `schedule-expressions` and `schedule-place-fixed`. */
export function applyPatch(stored: ScheduleRow, body: Patch, writtenBy: string): PatchedSchedule {
  requirePlaceKept(stored, body);
  const row: ScheduleRow = {
    ...stored,
    ...readExpression(body, 'body'),
    name: body.name ?? stored.name,
    version_name: keepOr(stored.version_name, body.versionName),
    agent_id: body.agentId ? toUuid(body.agentId) : keepOr(stored.agent_id, body.agentId),
    cron_timezone: body.cronTimezone ?? stored.cron_timezone,
    effective_from:
      body.effectiveFrom === undefined
        ? stored.effective_from
        : body.effectiveFrom === ''
          ? null
          : new Date(body.effectiveFrom),
    enabled: body.scheduleEnabled ?? stored.enabled,
    allows_concurrent: body.allowConcurrentExecutions ?? stored.allows_concurrent,
    scalar_variables: body.scalarVariables ?? stored.scalar_variables,
    grid_variables: body.gridVariables ?? stored.grid_variables,
    written_by: writtenBy,
    version: stored.version + 1,
  };
  const isStopped = row.enabled && stored.problem_code === expressionProblem;
  return { row, isRetimed: isStopped || describeTiming(row) !== describeTiming(stored) };
}

/** An empty text removes the value. */
function keepOr(stored: string | null, source: string | undefined): string | null {
  return source === undefined ? stored : source || null;
}

/** Whether two states of a schedule have the same ticks. */
export function haveSameTimes(one: ScheduleRow, other: ScheduleRow): boolean {
  return describeTiming({ ...one, enabled: true }) === describeTiming({ ...other, enabled: true });
}

function describeTiming(row: ScheduleRow): string {
  const { cron_expression, interval_length, interval_unit, cron_timezone, effective_from, enabled } = row;
  return JSON.stringify([
    ...[cron_expression, interval_length, interval_unit, cron_timezone, effective_from, enabled],
  ]);
}

/**
 * The next ticks, also of a schedule that is not enabled, or those from a time on; none if its timetable is no
 * longer valid.
 */
export function listTicksFrom(row: ScheduleRow, now: Date, atMost: number, from?: Date): Date[] {
  const { timetable } = readTimetable(row);
  if (timetable === undefined) return [];
  if (from !== undefined) return listTicks(timetable, from, endOfTime, atMost);
  const ticks: Date[] = [];
  let tick = row.next_tick_at ?? nextTickAfter(timetable, findTicksStart(row.last_tick_at, now));
  while (tick !== undefined && ticks.length < atMost) {
    ticks.push(tick);
    tick = nextTickAfter(timetable, tick);
  }
  return ticks;
}

type Zoned = Partial<Record<'cronTimezone' | (typeof otherTimezones)[number], string>>;

/** The time zone by any of its names. Throws `schedule-time-zones` if two of them differ. */
export function readTimezone<Timing extends Zoned>(timing: Timing, at: string): Timing {
  const names = (['cronTimezone', ...otherTimezones] as const).filter((name) => timing[name] !== undefined);
  const [first, ...others] = names;
  if (first === undefined) return timing;
  const other = others.find((name) => timing[name] !== timing[first]);
  if (other !== undefined)
    throw problem('schedule-time-zones', {
      field: `${at}.${other}`,
      value: timing[other] ?? '',
      other: first,
      otherValue: timing[first] ?? '',
    });
  return { ...timing, cronTimezone: timing[first] };
}
