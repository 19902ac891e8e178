import type { AccountEvent } from '../../kernel/database/events.ts';

/** The subject of a backfill's events has the name of its schedule. */
export function buildBackfillEvent(
  name: AccountEvent['name'],
  { project_id: projectId, backfill_id: id, schedule_id: scheduleId }: BackfillKey,
  scheduleName: string,
  states: { before?: object; after?: object },
): AccountEvent {
  const after = states.after === undefined ? {} : { after: { scheduleId, ...states.after } };
  return { name, projectId, subject: { type: 'backfill', id, name: scheduleName }, ...states, ...after };
}

interface BackfillKey {
  project_id: string;
  backfill_id: string;
  schedule_id: string;
}
