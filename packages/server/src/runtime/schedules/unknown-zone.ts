/**
 * Time zones that other servers know and this one does not: its Node.js has an older database of time zones. It
 * leaves their schedules to the others. If none handles a tick in time, the schedule says so, and the tick stays
 * due until a server knows the zone.
 */
import type { Transaction } from '../../kernel/database/database.ts';
import { recordEvents } from '../../kernel/database/events.ts';
import type { FailureLog } from '../../kernel/failure-log.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { type DueRow, setScheduleProblem } from './due-schedule.store.ts';
import { expressionProblem } from './schedule/schedule.ts';
import { buildScheduleEvent } from './schedule/schedule-write.ts';
import { lateMilliseconds } from './tick.ts';
import { describeUnknownZone, findZone } from './timetable/zone.ts';

/** Of schedules, so there are few. The zones of a process do not change. */
const unknownZones = new Set<string>();

export function listUnknownZones(): string[] {
  return [...unknownZones];
}

/** Returns whether the schedule is left to other servers, because this one does not know its time zone. */
export function leaveUnknownZone(
  tx: Transaction,
  row: DueRow,
  now: Date,
  { failures, newId }: { failures: FailureLog; newId: NewId },
): boolean {
  const zone = row.cron_timezone;
  if (findZone(zone) !== undefined) return false;
  if (!unknownZones.has(zone)) {
    unknownZones.add(zone);
    const message =
      'this server does not know the time zone of a schedule and leaves it to other servers; update Node.js';
    failures.recordFailure('time zones', new Error(describeUnknownZone(zone)), message, { zone });
  }
  const due = row.next_tick_at ?? now;
  if (now.getTime() - due.getTime() < lateMilliseconds || row.problem_code === expressionProblem) return true;
  const detail = `cronTimezone: ${describeUnknownZone(zone)} The tick at ${due.toISOString()} runs as soon as a server knows the time zone.`;
  const problem = { code: expressionProblem, detail, since: due };
  setScheduleProblem(tx, row, problem);
  const after = { tick: due.toISOString(), code: expressionProblem, detail, since: due.toISOString() };
  const event = buildScheduleEvent('schedule-tick-missed', row.project_id, row, { after });
  const source = {
    accountId: row.account_id,
    actorId: null,
    actorKind: 'system',
    requestId: null,
  } as const;
  recordEvents(tx, source, [event], now, newId);
  return true;
}
