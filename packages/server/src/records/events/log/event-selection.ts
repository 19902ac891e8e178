/** Filters and reach, as requests give them and in memory. */
import type { EventName } from '@headgate/contract';
import { toUuid } from '../../../kernel/identifiers.ts';
import type { EventFilter, LoggedEvent } from './event-log.ts';
import type { EventReach } from './event-reach.ts';

interface FilterQuery {
  eventName?: readonly EventName[] | undefined;
  projectId?: string | undefined;
  environmentName?: string | undefined;
  actorId?: string | undefined;
  subjectId?: string | undefined;
  subjectType?: string | undefined;
}

export function readFilter(query: FilterQuery): EventFilter {
  return {
    names: query.eventName,
    projectId: query.projectId === undefined ? undefined : toUuid(query.projectId),
    environmentName: query.environmentName,
    actorId: query.actorId === undefined ? undefined : toUuid(query.actorId),
    subjectId: query.subjectId,
    subjectType: query.subjectType,
  };
}

/** Returns undefined if every event is selected. Selects what the statement of `readEventsAfter` selects. */
export function createSelection(
  filter: EventFilter,
  reach: EventReach,
): ((event: LoggedEvent) => boolean) | undefined {
  const tests: ((event: LoggedEvent) => boolean)[] = [];
  if (!('all' in reach)) {
    const projects = new Set(reach.projects);
    tests.push(({ project_id }) => project_id !== null && projects.has(project_id));
  }
  const { names, projectId, environmentName, actorId, subjectId, subjectType } = filter;
  if (names !== undefined) {
    const selectedNames = new Set(names);
    tests.push(({ name }) => selectedNames.has(name));
  }
  if (projectId !== undefined) tests.push(({ project_id }) => project_id === projectId);
  if (environmentName !== undefined) tests.push((event) => event.environment_name === environmentName);
  if (actorId !== undefined) tests.push(({ actor_id }) => actor_id === actorId);
  if (subjectId !== undefined) tests.push(({ subject_id }) => subject_id === subjectId);
  if (subjectType !== undefined) tests.push(({ subject_type }) => subject_type === subjectType);
  return tests.length === 0 ? undefined : (event) => tests.every((isSelected) => isSelected(event));
}
