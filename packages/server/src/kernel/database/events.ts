import type { EventName } from '@headgate/contract';
import { insertStatement, type Parameter, statement, type Transaction } from './database.ts';

/** What happened to what, with its state before and after: never a secret. It is written by the transaction that did it. */
export interface AccountEvent {
  name: EventName;
  projectId?: string | undefined;
  subject: { type: string; id: string; name?: string | undefined };
  before?: object;
  after?: object;
}

export interface EventSource {
  accountId: string;
  actorId: string | null;
  actorKind: 'credential' | 'agent' | 'system';
  requestId: string | null;
}

/** The beginning of an insert: for a statement that writes the events of what it changes by itself. */
export const insertIntoEvent = `
  insert into event (account_id, occurred_at, event_id, name, actor_id, actor_kind, request_id,
    project_id, subject_type, subject_id, subject_name, state_before, state_after)`;

const insertEvents = statement(`${insertIntoEvent}
  select $1, $2, e.id, e.name, $3, $4, $5, e."projectId", e."subjectType", e."subjectId", e."subjectName", e.before, e.after
  from jsonb_to_recordset($6) as e(id uuid, name text, "projectId" uuid, "subjectType" text, "subjectId" text,
    "subjectName" text, before jsonb, after jsonb)`);

// The usual case, without the way through JSON.
const insertEvent = insertStatement('event', {
  account_id: 'uuid',
  occurred_at: 'timestamptz',
  event_id: 'uuid',
  name: 'text',
  actor_id: 'uuid',
  actor_kind: 'text',
  request_id: 'uuid',
  project_id: 'uuid',
  subject_type: 'text',
  subject_id: 'text',
  subject_name: 'text',
  state_before: 'jsonb',
  state_after: 'jsonb',
});

/** Writes the events of a transaction, in one statement. */
export function recordEvents(
  tx: Transaction,
  source: EventSource,
  events: readonly AccountEvent[],
  at: Date,
  newId: () => string,
): void {
  const [only] = events;
  if (only === undefined) return;
  if (events.length === 1) {
    const { name, projectId, subject, before, after } = only;
    const by = [source.actorId, source.actorKind, source.requestId];
    const about = [
      projectId ?? null,
      subject.type,
      subject.id,
      subject.name ?? null,
      json(before),
      json(after),
    ];
    tx.send(insertEvent, [source.accountId, at, newId(), name, ...by, ...about]);
    return;
  }
  const rows = events.map(({ name, projectId, subject, before, after }) => ({
    id: newId(),
    name,
    projectId,
    subjectType: subject.type,
    subjectId: subject.id,
    subjectName: subject.name,
    before,
    after,
  }));
  const parameters: Parameter[] = [
    source.accountId,
    at,
    source.actorId,
    source.actorKind,
    source.requestId,
    JSON.stringify(rows),
  ];
  tx.send(insertEvents, parameters);
}

function json(state: object | undefined): string | null {
  return state === undefined ? null : JSON.stringify(state);
}
