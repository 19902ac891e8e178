/** Claims: an instance of an agent takes queued work, with the next epoch and a lease (work.ts). */
import {
  type Permission,
  previewWarehouseTable,
  queryWarehouse,
  testDataPlatformConnection,
  testFlexConnector,
} from '@headgate/contract';
import { addSeconds } from '../clock.ts';
import { statement, type Transaction, typed } from '../database/database.ts';
import { insertIntoEvent } from '../database/events.ts';
import type { NewId } from '../identifiers.ts';
import { findRequiredRoles, type RequiredRoles } from '../security/permissions.ts';
import type { WorkOwner, WorkOwners, WorkRow, WorkTimes } from './work.ts';

/** Claimed work as sent to its agent. `payload` comes from the owner of its kind. */
export type ClaimedWork = Pick<WorkRow, 'work_id' | 'kind' | 'epoch'> & {
  payload: object | null;
  /** The share of its environment in the agent's places of one kind, in percent. */
  share: number;
};

/**
 * SQL: whether the agent's allowlist includes the place of the work. Work without a project is always
 * allowed.
 */
export const isAllowed = (work: string) => `(${work}.project_id is null or exists (
  select from agent_allowed_place p
  where p.account_id = ${work}.account_id and p.agent_id = ${work}.agent_id and p.project_id = ${work}.project_id
    and (p.environment_name is null or p.environment_name = ${work}.environment_name)))`;

/** SQL: whether the caller of the work is permitted what the roles allow there: expressions of `text[]`. */
const isPermittedWith = (work: string, roles: RequiredRoles) => `(${work}.requested_by is null or (
  select standing from rights(${work}.account_id, ${work}.requested_by, ${work}.project_id, ${work}.environment_name,
    ${roles.account}, ${roles.project}, ${roles.environment}, $now::timestamptz)) = 'permitted')`;

const findRoles = (permission: Permission): RequiredRoles => {
  const { account, project, environment } = findRequiredRoles(permission);
  const cast = (roles: string) => `'${roles}'::text[]`;
  return { account: cast(account), project: cast(project), environment: cast(environment) };
};

const runPermission: Permission = 'environment:run';

/** SQL: whether the caller that asked for the work still has the permission to run pipelines there. */
export const isStillPermitted = (work: string) => isPermittedWith(work, findRoles(runPermission));

/** The permission to ask for work of these kinds; for the others it is to run pipelines. */
const permissionOfKind = {
  'warehouse-query': queryWarehouse.permission,
  'table-read': previewWarehouseTable.permission,
  'connector-test': testFlexConnector.permission,
  'connection-test': testDataPlatformConnection.permission,
} as const;

/** SQL: whether the caller that asked for the work could still ask for it. */
export const isWorkStillPermitted = (work: string) => {
  const chooseRoles = (place: keyof RequiredRoles) => {
    const ofKinds = Object.entries(permissionOfKind).map(
      ([kind, permission]) => `when '${kind}' then ${findRoles(permission)[place]}`,
    );
    return `case ${work}.kind ${ofKinds.join(' ')} else ${findRoles(runPermission)[place]} end`;
  };
  return isPermittedWith(work, {
    account: chooseRoles('account'),
    project: chooseRoles('project'),
    environment: chooseRoles('environment'),
  });
};

/** What the caller of such work may do, for messages. */
export function describePermission(kind: string): string {
  if (kind === 'warehouse-query' || kind === 'table-read') return 'query tables';
  if (kind === 'connection-test') return 'configure the project';
  return kind === 'connector-test' ? 'test connectors' : 'run pipelines';
}

/**
 * Serializes the claims of an agent with several instances, so that together they respect the share of an
 * environment. A statement of its own: what follows sees what the claim before has committed.
 */
const lockClaims = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' } },
  `
  select pg_advisory_xact_lock(hashtextextended('headgate claims ' || $agent_id::uuid, 0))
  where (select count(*) from (select from agent_instance
    where account_id = $account_id and agent_id = $agent_id limit 2) two) > 1`,
);

/**
 * The statement that claims queued work for an instance: not while its agent is paused or the instance is
 * asked to restart, only kinds that it supports, and for a restricted agent only allowed places (the sweep
 * ends other work). The function `choose_work` takes the work of projects and environments in turns, and
 * leaves that of an environment which has its share (docs/adr/0077). Work whose caller has lost its permission is
 * returned without a payload and not claimed: see endUnpermittedWork. It also writes the events and returns
 * the payloads, so that a claim is one trip. The chosen rows are an array: with a join the planner might
 * scan all work of the account.
 */
export type ClaimStatement = ReturnType<typeof declareClaim>;

export function declareClaim(owners: WorkOwners) {
  const kinds = [...owners];
  const chooseByKind = (writeSql: (owner: WorkOwner) => string) =>
    `case kind ${kinds.map(([kind, owner]) => `when '${kind}' then ${writeSql(owner)}`).join(' ')} end`;
  const choose = (lane: 'run' | 'short', most: string) =>
    `choose_work($account_id::uuid, $agent_id::uuid, $instance_id::uuid, $secret_generation::integer, '${lane}', ${most})`;
  return statement(
    {
      parameters: {
        account_id: 'uuid',
        agent_id: 'uuid',
        max: 'integer',
        max_short: 'integer?',
        instance_id: 'uuid',
        lease_expires_at: 'timestamptz',
        run_bound: 'timestamptz',
        now: 'timestamptz',
        event_ids: 'uuid[]',
        request_id: 'uuid',
        secret_generation: 'integer',
      },
      row: {
        epoch: 'integer',
        work_id: 'uuid',
        kind: typed<WorkRow['kind']>('text'),
        payload: typed<object | null>('json'),
        share: 'integer',
      },
    },
    `
    with short as materialized (
      select work_ids, turns from ${choose('short', 'coalesce($max_short::integer, $max::integer)')}
    ), runs as materialized (
      select r.* from short,
        ${choose('run', 'case when $max_short::integer is null then $max::integer - cardinality(short.work_ids) else $max::integer end')} r
    ), chosen as materialized (
      select work_id, account_id, project_id, environment_name, kind, requested_by from work
      where account_id = $account_id and state = 'queued' and command is null
        and work_id = any ((select short.work_ids || runs.work_ids from short, runs)::uuid[])
      for update skip locked
    ), judged as materialized (
      select work_id, kind, ${isWorkStillPermitted('chosen')} as is_permitted from chosen
    ), turned as (
      insert into work_turn (account_id, agent_id, is_short, project_id, visited, remaining, holds_back)
      select $account_id::uuid, $agent_id::uuid, lane.is_short, t.project_id, t.visited, t.remaining, t.holds_back
      from (select true as is_short, turns from short union all select false, turns from runs) lane,
        jsonb_to_recordset(lane.turns) as t (project_id uuid, visited text, remaining integer, holds_back boolean)
      on conflict on constraint work_turn_once do update set visited = excluded.visited, remaining = excluded.remaining,
        holds_back = excluded.holds_back
    ), claimed as (
      update work set state = 'held', epoch = epoch + 1, report_sequence = 0, instance_id = $instance_id,
        lease_expires_at = $lease_expires_at::timestamptz, run_bound = $run_bound::timestamptz,
          silent_since = null, due_at = least($lease_expires_at::timestamptz, $run_bound::timestamptz)
      where account_id = $account_id and work_id = any (array(select work_id from judged where is_permitted))
      returning work_id, account_id, project_id, environment_name, kind, name, epoch
    ), noted as (
      ${insertIntoEvent}
      select account_id, $now, ($event_ids::uuid[])[row_number() over ()], kind || '-claimed', $agent_id,
        'agent', $request_id, project_id, environment_name, kind, work_id::text, name, null, null
      from claimed
    )${kinds.map(([, { claimed }]) => claimed.with.map((cte) => `, ${cte}`).join('')).join('')}
    select work_id, kind, epoch, ${chooseByKind(({ claimed }) => `(${claimed.payload})`)} as payload,
      case when project_id || '/' || environment_name = (select sole from runs) then 100
        else coalesce((select share from runs), 100) end as share from claimed
    union all select work_id, kind, 0, null, 100 from judged where not is_permitted`,
  );
}

const selectHeldBack = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' }, row: { is_short: 'boolean' } },
  `
  select is_short from work_turn where account_id = $account_id and agent_id = $agent_id and project_id is null and holds_back`,
);

/**
 * A row if the last claim of an agent left work because its environment had its share. Then the end of other work of
 * the agent is news for its waiting claims.
 */
export function collectHeldBack(tx: Transaction, accountId: string, agentId: string) {
  return tx.collect(selectHeldBack, { account_id: accountId, agent_id: agentId });
}

export interface Claiming {
  accountId: string;
  agentId: string;
  instanceId: string;
  /** Of runs; of all work if `maxShort` is undefined. */
  max: number;
  /** Of short work, which a request waits for. Undefined for an instance that does not distinguish it. */
  maxShort?: number | undefined;
  requestId: string;
  /** The generation of the token's agent secret. An old one claims nothing. */
  generation: number;
}

export function claimWork(
  tx: Transaction,
  claimQuery: ClaimStatement,
  by: Claiming,
  { now, newId }: { now: Date; newId: NewId },
  times: WorkTimes,
): readonly ClaimedWork[] {
  tx.send(lockClaims, { account_id: by.accountId, agent_id: by.agentId });
  return tx.collect(claimQuery, {
    account_id: by.accountId,
    agent_id: by.agentId,
    max: by.max,
    max_short: by.maxShort ?? null,
    instance_id: by.instanceId,
    lease_expires_at: addSeconds(now, times.leaseSeconds),
    run_bound: addSeconds(now, times.runLimitSeconds + times.graceSeconds),
    now,
    event_ids: Array.from({ length: by.max + (by.maxShort ?? 0) }, newId),
    request_id: by.requestId,
    secret_generation: by.generation,
  });
}
