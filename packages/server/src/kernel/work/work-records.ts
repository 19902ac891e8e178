/** What the owners of work record of it: events, and the message of an end. */
import type { EventName } from '@headgate/contract';
import { recordEvents } from '../database/events.ts';
import { describeCancellation, type WorkEnd, type WorkMoment, type WorkSubject } from './work.ts';

const messageLimit = 10_000;

export function describeEnd({ status, message, requestedBy }: WorkEnd): string | undefined {
  if (status === 'CANCELLED' && message === undefined) return `${describeCancellation(requestedBy)}.`;
  return message?.slice(0, messageLimit);
}

/** @param subjectType of the events, such as `pipeline-execution` */
export function recordWorkEvents(
  { tx, source, now, newId }: WorkMoment,
  event: EventName,
  subjectType: string,
  about: readonly WorkSubject[],
): void {
  const events = about.map(({ work_id, project_id, environment_name, name }) => ({
    name: event,
    projectId: project_id ?? undefined,
    environmentName: environment_name ?? undefined,
    subject: { type: subjectType, id: work_id, name },
  }));
  recordEvents(tx, source, events, now, newId);
}
