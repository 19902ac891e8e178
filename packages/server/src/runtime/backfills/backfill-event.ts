import type { AccountEvent } from '../../kernel/database/events.ts';

/** The subject of a backfill's events has the name of its schedule. */
export function buildBackfillEvent(
  name: AccountEvent['name'],
  key: BackfillKey,
  scheduleName: string,
  states: { before?: object; after?: object },
): AccountEvent {
  const { project_id: projectId, environment_name: environmentName } = key;
  const { backfill_id: id, schedule_id: scheduleId } = key;
  const after = states.after === undefined ? {} : { after: { scheduleId, ...states.after } };
  const subject = { type: 'backfill', id, name: scheduleName };
  return { name, projectId, environmentName, subject, ...states, ...after };
}

interface BackfillKey {
  project_id: string;
  environment_name: string;
  backfill_id: string;
  schedule_id: string;
}
