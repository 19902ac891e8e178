/** The table `connector_test`. */
import { type Read, statement, type Transaction, typed } from '../../kernel/database/database.ts';
import { insertIntoEvent } from '../../kernel/database/events.ts';
import type { WorkMoment } from '../../kernel/work/work.ts';

const insertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      work_id: 'uuid',
      project_id: 'uuid',
      profile_name: 'text',
      request: 'text',
      created_at: 'timestamptz',
    },
  },
  `
  insert into connector_test (account_id, work_id, project_id, profile_name, request, state, created_at)
  values ($account_id, $work_id, $project_id, $profile_name, $request, 'PENDING', $created_at)`,
);

export interface NewConnectorTest {
  accountId: string;
  workId: string;
  projectId: string;
  profileName: string;
  /** A ConnectorTestWork. */
  request: object;
}

export function insertConnectorTest(tx: Transaction, test: NewConnectorTest, now: Date): void {
  tx.send(insertOne, {
    account_id: test.accountId,
    work_id: test.workId,
    project_id: test.projectId,
    profile_name: test.profileName,
    request: JSON.stringify(test.request),
    created_at: now,
  });
}

export interface ConnectorTestEnd {
  state: 'PENDING' | 'ANSWERED' | 'FAILED' | 'FORBIDDEN';
  /** A ConnectorTestResult as JSON. */
  result: string | null;
  message: string | null;
}

const selectOne = statement(
  {
    parameters: { account_id: 'uuid', work_id: 'uuid' },
    row: { state: typed<ConnectorTestEnd['state']>('text'), result: 'text?', message: 'text?' },
  },
  'select state, result, message from connector_test where account_id = $account_id and work_id = $work_id',
);

export async function readConnectorTest(
  read: Read,
  accountId: string,
  workId: string,
): Promise<ConnectorTestEnd | undefined> {
  const [row] = await read(selectOne, { account_id: accountId, work_id: workId });
  return row;
}

// Writes the event too, which needs the project.
const endOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      work_id: 'uuid',
      state: 'text',
      result: 'text?',
      message: 'text?',
      now: 'timestamptz',
      event_id: 'uuid',
      actor_id: 'uuid?',
      actor_kind: 'text',
      request_id: 'uuid?',
    },
  },
  `
  with ended as (
    update connector_test set state = $state, result = $result, message = $message
    where account_id = $account_id and work_id = $work_id and state = 'PENDING'
    returning project_id, profile_name, request::json ->> 'environmentName' as environment_name
  )
  ${insertIntoEvent}
  select $account_id, $now, $event_id, 'connector-test-ended', $actor_id, $actor_kind, $request_id, project_id,
    environment_name, 'connector-test', $work_id::uuid::text, profile_name, null,
    jsonb_strip_nulls(jsonb_build_object('state', $state::text, 'message', $message::text))
  from ended`,
);

export function endConnectorTest(
  { tx, accountId, source, now, newId }: WorkMoment,
  workId: string,
  end: ConnectorTestEnd,
): void {
  tx.send(endOne, {
    account_id: accountId,
    work_id: workId,
    ...end,
    now,
    event_id: newId(),
    actor_id: source.actorId,
    actor_kind: source.actorKind,
    request_id: source.requestId,
  });
}

export const connectorTestBatch = 1_000;
const deleteOld = statement(
  { parameters: { before: 'timestamptz' }, row: { removed: 'integer' }, alone: true },
  `
  with removed as (
    delete from connector_test where ctid = any (array(
      select ctid from connector_test where created_at < $before limit ${connectorTestBatch} for update skip locked))
    returning 1
  )
  select count(*)::integer as removed from removed`,
);

/** Longer than an Idempotency-Key is valid. */
const keptHours = 48;

/** Deletes one batch of old tests; returns how many. */
export async function removeOldConnectorTests(read: Read, now: Date): Promise<number> {
  const [row] = await read(deleteOld, { before: new Date(now.getTime() - keptHours * 3_600_000) });
  return row?.removed ?? 0;
}
