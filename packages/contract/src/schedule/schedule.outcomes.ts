/** Problems and events of schedules. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const scheduleOutcomes = {
  events: [
    'schedule-created',
    'schedule-updated',
    'schedule-deleted',
    'schedule-tick-missed',
    'schedule-recovered',
  ],
  problems: {
    'schedule-not-found': kind<{ id: string }>(
      404,
      'The project has no such schedule.',
      ({ id }) => `There is no schedule ${id}.`,
    ),
    'schedule-name-taken': kind<{ name: string }>(
      409,
      'Another schedule of the project has this name.',
      ({ name }) => `A schedule named ${quoted(name)} already exists in this project.`,
    ),
    'too-many-schedules': kind<{ limit: number }>(
      409,
      'The project has as many schedules as it may have.',
      ({ limit }) => `The project has ${limit} schedules, which is the limit: delete some first.`,
    ),
    'schedule-expression': kind<{ field: string; reason: string }>(
      422,
      'A cron expression, an interval, a time zone or the first time of a schedule is invalid, or has no tick.',
      ({ field, reason }) => `${field}: ${reason}`,
    ),
    'schedule-expressions': kind<{ field: string; isMissing: boolean }>(
      422,
      'A schedule has neither a cron expression nor an interval, or both.',
      ({ field, isMissing }) =>
        isMissing
          ? `${field} needs \`cronExpression\`, such as "0 6 * * *", or \`intervalExpression\`, such as {"interval": 15, "unit": "MINUTES"}.`
          : `${field} has both \`cronExpression\` and \`intervalExpression\`: send one of them.`,
    ),
    'schedule-time-zones': kind<{ field: string; value: string; other: string; otherValue: string }>(
      400,
      'A request names the time zone of a schedule twice, and differently.',
      ({ field, value: given, other, otherValue: otherGiven }) =>
        `${field} is ${quoted(given)}, and ${other} is ${quoted(otherGiven)}: send one of them.`,
    ),
    'schedule-too-frequent': kind<{ field: string; seconds: number; least: number; example: string }>(
      422,
      'A schedule would run more often than the operator allows.',
      ({ field, seconds, least, example }) =>
        `${field} has ticks ${seconds} s apart; the shortest interval is ${least} s (HEADGATE_SCHEDULE_INTERVAL_SECONDS): choose a longer one, such as ${example}.`,
    ),
    'schedule-place-fixed': kind<{ member: string; value: string; stored: string }>(
      422,
      'A schedule keeps its pipeline and its environment.',
      ({ member, value: given, stored }) =>
        `body.${member}: ${quoted(given)} is not the ${member} of the schedule, ${quoted(stored)}, which cannot be changed: leave ${member} out, or create another schedule.`,
    ),
    'schedule-running': kind<{ name: string; id: string }>(
      409,
      'The schedule does not allow concurrent executions, and a run has not ended.',
      ({ name, id }) =>
        `The schedule ${quoted(name)} does not allow concurrent executions, and its execution ${id} has not ended: wait for its end, or cancel it.`,
    ),
  },
} as const satisfies Outcomes;
