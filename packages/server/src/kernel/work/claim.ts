/** Claims: an instance of an agent takes queued work, with the next epoch and a lease (work.ts). */
import { addSeconds } from '../clock.ts';
import { statement, type Transaction, typed } from '../database/database.ts';
import { insertIntoEvent } from '../database/events.ts';
import type { NewId } from '../identifiers.ts';
import { findRequiredRoles } from '../security/permissions.ts';
import type { WorkOwner, WorkOwners, WorkRow, WorkTimes } from './work.ts';

/** Claimed work as sent to its agent. `payload` comes from the owner of its kind. */
export type ClaimedWork = Pick<WorkRow, 'work_id' | 'kind' | 'epoch'> & { payload: object | null };

/**
 * SQL: whether the agent's allowlist includes the place of the work. Work without a project is always
 * allowed.
 */
export const isAllowed = (work: string) => `(${work}.project_id is null or exists (
  select from agent_allowed_place p
  where p.account_id = ${work}.account_id and p.agent_id = ${work}.agent_id and p.project_id = ${work}.project_id
    and (p.environment_name is null or p.environment_name = ${work}.environment_name)))`;

const { account, project, environment } = findRequiredRoles('environment:run');

/** SQL: whether the caller that asked for the work still has permission to run pipelines there. */
export const isStillPermitted = (work: string) => `(${work}.requested_by is null or (
  select standing from rights(${work}.account_id, ${work}.requested_by, ${work}.project_id, ${work}.environment_name,
    '${account}'::text[], '${project}'::text[], '${environment}'::text[], $now::timestamptz)) = 'permitted')`;

/**
 * The statement that claims queued work for an instance: not while its agent is paused or the instance is
 * asked to restart, only kinds that it supports, and for a restricted agent only allowed places (the sweep
 * ends other work). Work whose caller has lost its permission is returned without a payload and not
 * claimed: see endUnpermittedWork. It also writes the events and returns the payloads, so that a claim is one trip. The
 * chosen rows are an array: with a join the planner might scan all work of the account.
 */
export type ClaimStatement = ReturnType<typeof declareClaim>;

export function declareClaim(owners: WorkOwners) {
  const kinds = [...owners];
  const chooseByKind = (writeSql: (owner: WorkOwner) => string) =>
    `case kind ${kinds.map(([kind, owner]) => `when '${kind}' then ${writeSql(owner)}`).join(' ')} end`;
  return statement(
    {
      parameters: {
        account_id: 'uuid',
        agent_id: 'uuid',
        max: 'bigint',
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
      },
    },
    `
    with claimant as (
      select a.restricted_access, i.abilities, a.secret_generation = $secret_generation and not a.paused
        and i.restart_requested is not true as may_claim
      from agent a
      left join agent_instance i on i.account_id = a.account_id and i.agent_id = a.agent_id and i.instance_id = $instance_id
      where a.account_id = $account_id and a.agent_id = $agent_id
    ), chosen as materialized (
      select work_id, account_id, project_id, environment_name, kind, requested_by from work
      where account_id = $account_id and agent_id = $agent_id and state = 'queued' and command is null
        and (select may_claim from claimant)
        and ((select abilities from claimant) is null or kind = any ((select abilities from claimant)::text[]))
        and (ability is null or ability = any ((select abilities from claimant)::text[]))
        and (not (select restricted_access from claimant) or ${isAllowed('work')})
        and (key_id is null or exists (
          select from agent_certificate c
          where c.account_id = $account_id and c.agent_id = $agent_id and c.key_id = work.key_id
            and c.instance_id = $instance_id and c.secret_generation = $secret_generation))
      order by created_at, work_id
      limit $max
      for update skip locked
    ), judged as materialized (
      select work_id, kind, ${isStillPermitted('chosen')} as is_permitted from chosen
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
    select work_id, kind, epoch, ${chooseByKind(({ claimed }) => `(${claimed.payload})`)} as payload from claimed
    union all select work_id, kind, 0, null from judged where not is_permitted`,
  );
}

export interface Claiming {
  accountId: string;
  agentId: string;
  instanceId: string;
  max: number;
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
  return tx.collect(claimQuery, {
    account_id: by.accountId,
    agent_id: by.agentId,
    max: by.max,
    instance_id: by.instanceId,
    lease_expires_at: addSeconds(now, times.leaseSeconds),
    run_bound: addSeconds(now, times.runLimitSeconds + times.graceSeconds),
    now,
    event_ids: Array.from({ length: by.max }, newId),
    request_id: by.requestId,
    secret_generation: by.generation,
  });
}
