import type { EventName } from '@headgate/contract';
import { insertStatement, statement, type Transaction } from './database.ts';

/**
 * A change to a resource, with its state before and after, never a secret. Events are written in the
 * transaction of the change.
 */
export interface AccountEvent {
  name: EventName;
  projectId?: string | undefined;
  /** The environment that it is about; undefined for none, or several. */
  environmentName?: string | undefined;
  subject: { type: string; id: string; name?: string | undefined };
  before?: object;
  after?: object;
}

export type ActorKind = 'credential' | 'user' | 'agent' | 'system';

export interface EventSource {
  accountId: string;
  actorId: string | null;
  actorKind: ActorKind;
  requestId: string | null;
}

/** A request as the source of events. */
export function createEventSource(
  { accountId, actorId, userCredentialId, isUser = userCredentialId !== undefined }: Caller,
  requestId: string,
): EventSource {
  return { accountId, actorId, actorKind: isUser ? 'user' : 'credential', requestId };
}

interface Caller {
  accountId: string;
  actorId: string;
  userCredentialId?: string | undefined;
  isUser?: boolean | undefined;
}

/** The start of an insert, for statements that write the events of their own changes. */
export const insertIntoEvent = `
  insert into event (account_id, occurred_at, event_id, name, actor_id, actor_kind, request_id,
    project_id, environment_name, subject_type, subject_id, subject_name, state_before, state_after)`;

const insertEvents = statement(
  {
    parameters: {
      account_id: 'uuid',
      occurred_at: 'timestamptz',
      actor_id: 'uuid?',
      actor_kind: 'text',
      request_id: 'uuid?',
      events: 'jsonb',
    },
  },
  `${insertIntoEvent}
  select $account_id, $occurred_at, e.id, e.name, $actor_id, $actor_kind, $request_id, e."projectId",
    e."environmentName", e."subjectType", e."subjectId", e."subjectName", e.before, e.after
  from jsonb_to_recordset($events) as e(id uuid, name text, "projectId" uuid, "environmentName" text,
    "subjectType" text, "subjectId" text, "subjectName" text, before jsonb, after jsonb)`,
);

// The usual case: avoids the conversion to JSON.
const insertEvent = insertStatement('event', {
  account_id: 'uuid',
  occurred_at: 'timestamptz',
  event_id: 'uuid',
  name: 'text',
  actor_id: 'uuid?',
  actor_kind: 'text',
  request_id: 'uuid?',
  project_id: 'uuid?',
  environment_name: 'text?',
  subject_type: 'text',
  subject_id: 'text',
  subject_name: 'text?',
  state_before: 'jsonb?',
  state_after: 'jsonb?',
});

/** Writes the events of a transaction in one statement. */
export function recordEvents(
  tx: Transaction,
  source: EventSource,
  events: readonly AccountEvent[],
  at: Date,
  newId: () => string,
): void {
  const [only] = events;
  if (only === undefined) return;
  const by = {
    account_id: source.accountId,
    occurred_at: at,
    actor_id: source.actorId,
    actor_kind: source.actorKind,
    request_id: source.requestId,
  };
  if (events.length === 1) {
    const { name, projectId, environmentName, subject, before, after } = only;
    tx.send(insertEvent, {
      ...by,
      event_id: newId(),
      name,
      project_id: projectId ?? null,
      environment_name: environmentName ?? null,
      subject_type: subject.type,
      subject_id: subject.id,
      subject_name: subject.name ?? null,
      state_before: encodeState(before),
      state_after: encodeState(after),
    });
    return;
  }
  const rows = events.map(({ name, projectId, environmentName, subject, before, after }) => ({
    id: newId(),
    name,
    projectId,
    environmentName,
    subjectType: subject.type,
    subjectId: subject.id,
    subjectName: subject.name,
    before,
    after,
  }));
  tx.send(insertEvents, { ...by, events: JSON.stringify(rows) });
}

function encodeState(state: object | undefined): string | null {
  return state === undefined ? null : JSON.stringify(state);
}
