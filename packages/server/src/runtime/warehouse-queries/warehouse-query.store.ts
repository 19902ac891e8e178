/** The table `warehouse_query`. */
import type { WarehouseRows } from '@headgate/contract';
import {
  type ColumnTypes,
  insertStatement,
  type ParametersOf,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { insertIntoEvent } from '../../kernel/database/events.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import type { WorkMoment } from '../../kernel/work/work.ts';
import { connectedSeconds } from '../../workspace/agents/index.ts';

const placeRow = {
  agent_id: 'uuid?',
  agent_name: 'text?',
  paused: 'boolean?',
  connected: 'boolean?',
  /** Whether a connected instance supports this kind of work. */
  able: 'boolean?',
} satisfies ColumnTypes;
export type QueriedPlaceRow = RowOf<typeof placeRow>;

const instance = (condition: string) => `exists (
    select from agent_instance i
    where i.account_id = a.account_id and i.agent_id = a.agent_id and not i.stopping
      and i.last_seen_at > $now::timestamptz - interval '${connectedSeconds} seconds' and ${condition})`;

/** The named agent, or that of the environment: its default agent, or else the account's only one. */
export const queriedPlace = guardedRead(
  { parameters: { environment_name: 'text', agent_id: 'uuid?' }, row: placeRow },
  `
  select a.agent_id, a.name as agent_name, a.paused, ${instance('true')} as connected,
    ${instance("'warehouse-query' = any (i.abilities)")} as able
  from environment e
  left join agent a on a.account_id = e.account_id and a.agent_id = coalesce($agent_id::uuid, e.default_agent_id, (
    select min(agent_id::text)::uuid from agent where account_id = $account_id having count(*) = 1))
  where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name`,
);

const insertTypes = {
  account_id: 'uuid',
  query_id: 'uuid',
  project_id: 'uuid',
  environment_name: 'text',
  sql: 'text',
  max_rows: 'integer',
  max_bytes: 'integer',
  seconds: 'integer',
  created_at: 'timestamptz',
} as const;
const insertOne = insertStatement('warehouse_query', insertTypes, { derived: { state: "'PENDING'" } });

export function insertQuery(tx: Transaction, query: ParametersOf<typeof insertTypes>): void {
  tx.send(insertOne, query);
}

export type QueryState = 'PENDING' | 'ANSWERED' | 'FAILED';

const selectOne = statement(
  {
    parameters: { account_id: 'uuid', query_id: 'uuid' },
    row: {
      state: typed<QueryState>('text'),
      result: typed<WarehouseRows | null>('jsonb'),
      message: 'text?',
    },
  },
  'select state, result, message from warehouse_query where account_id = $account_id and query_id = $query_id',
);

export async function findQuery(read: Read, accountId: string, queryId: string) {
  return (await read(selectOne, { account_id: accountId, query_id: queryId }))[0];
}

export interface QueryEnd {
  id: string;
  result: WarehouseRows | undefined;
  message: string | null;
}

// Writes the events too, which need the project. Readers of events get no message: it may quote a row.
const endQueriesSql = statement(
  {
    parameters: {
      account_id: 'uuid',
      query_ids: 'uuid[]',
      states: 'text[]',
      results: 'text[]',
      messages: 'text[]',
      now: 'timestamptz',
      event_ids: 'uuid[]',
      actor_id: 'uuid?',
      actor_kind: 'text',
      request_id: 'uuid?',
    },
  },
  `
  with ended as (
    update warehouse_query q set state = ($states::text[])[array_position($query_ids::uuid[], q.query_id)],
      result = (($results::text[])[array_position($query_ids::uuid[], q.query_id)])::jsonb,
      message = ($messages::text[])[array_position($query_ids::uuid[], q.query_id)]
    where q.account_id = $account_id and q.query_id = any ($query_ids::uuid[]) and q.state = 'PENDING'
    returning q.query_id, q.project_id, q.environment_name, q.state
  )
  ${insertIntoEvent}
  select $account_id, $now, ($event_ids::uuid[])[row_number() over ()], 'warehouse-query-ended', $actor_id,
    $actor_kind, $request_id, project_id, environment_name, 'warehouse-query', query_id::text, 'query',
    null, jsonb_build_object('state', state)
  from ended`,
);

export function endQueries(
  { tx, accountId, source, now, newId }: WorkMoment,
  ends: readonly QueryEnd[],
): void {
  tx.send(endQueriesSql, {
    account_id: accountId,
    query_ids: ends.map(({ id }) => id),
    states: ends.map(({ result }) => (result === undefined ? 'FAILED' : 'ANSWERED')),
    results: ends.map(({ result }) => (result === undefined ? null : JSON.stringify(result))) as string[],
    messages: ends.map(({ message }) => message) as string[],
    now,
    event_ids: ends.map(newId),
    actor_id: source.actorId,
    actor_kind: source.actorKind,
    request_id: source.requestId,
  });
}

export const removedQueriesAtOnce = 1_000;
const deleteOld = statement(
  { parameters: { before: 'timestamptz' }, row: { removed: 'integer' }, alone: true },
  `
  with removed as (
    delete from warehouse_query where ctid = any (array(
      select ctid from warehouse_query where created_at < $before limit ${removedQueriesAtOnce} for update skip locked))
    returning 1
  )
  select count(*)::integer as removed from removed`,
);

/** The rows of a result are needed only while the request waits. */
const keptHours = 1;

/** Deletes one batch of old queries with their results; returns how many. */
export async function removeOldQueries(read: Read, now: Date): Promise<number> {
  const [row] = await read(deleteOld, { before: new Date(now.getTime() - keptHours * 3_600_000) });
  return row?.removed ?? 0;
}
