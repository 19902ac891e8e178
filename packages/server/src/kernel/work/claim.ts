/** Claims: an instance of an agent takes queued work, with the next epoch and a lease (work.ts). */
import { after } from '../clock.ts';
import { type Statement, statement, type Transaction } from '../database/database.ts';
import { insertIntoEvent } from '../database/events.ts';
import type { NewId } from '../identifiers.ts';
import type { WorkOwner, WorkOwners, WorkRow, WorkTimes } from './work.ts';

/** Claimed work as its agent is told of it; `payload` is what the owner of its kind says. */
export type ClaimedWork = Pick<WorkRow, 'work_id' | 'kind' | 'epoch'> & { payload: object };

/**
 * SQL: whether the allowlist of its agent names the place of a work; work in no project needs no name.
 */
export const isAllowed = (work: string) => `(${work}.project_id is null or exists (
  select from agent_allowed_place p
  where p.account_id = ${work}.account_id and p.agent_id = ${work}.agent_id and p.project_id = ${work}.project_id
    and (p.environment_name is null or p.environment_name = ${work}.environment_name)))`;

/**
 * Claims queued work, as far as the instance may have it: not while its agent is paused or it is to restart,
 * only kinds that it knows, and of a restricted agent only what its allowlist names (the sweep ends the
 * rest). Notes it and answers with what the agent is told, in one statement, so that a claim is one trip. The
 * chosen ones are an array: joined, they would be looked for among all work of the account while the plan is
 * from a small table.
 */
export function claimStatement(owners: WorkOwners): Statement<ClaimedWork> {
  const kinds = [...owners];
  const ofKind = (told: (owner: WorkOwner) => string) =>
    `case kind ${kinds.map(([kind, owner]) => `when '${kind}' then ${told(owner)}`).join(' ')} end`;
  return statement<ClaimedWork>(`
    with claimant as (
      select a.restricted_access, i.abilities, a.secret_generation = $10 and not a.paused and i.restart_requested is not true as may_claim
      from agent a
      left join agent_instance i on i.account_id = a.account_id and i.agent_id = a.agent_id and i.instance_id = $4
      where a.account_id = $1 and a.agent_id = $2
    ), claimed as (
      update work set state = 'held', epoch = epoch + 1, report_sequence = 0, instance_id = $4,
        lease_expires_at = $5::timestamptz, run_bound = $6::timestamptz, silent_since = null, due_at = least($5::timestamptz, $6::timestamptz)
      where account_id = $1 and work_id = any (array(
        select work_id from work
        where account_id = $1 and agent_id = $2 and state = 'queued' and command is null
          and (select may_claim from claimant)
          and ((select abilities from claimant) is null or kind = any ((select abilities from claimant)::text[]))
          and (not (select restricted_access from claimant) or ${isAllowed('work')})
          and (key_id is null or exists (
            select from agent_certificate c
            where c.account_id = $1 and c.agent_id = $2 and c.key_id = work.key_id and c.instance_id = $4 and c.secret_generation = $10))
        order by created_at, work_id
        limit $3
        for update skip locked))
      returning work_id, account_id, project_id, environment_name, kind, name, epoch
    ), noted as (
      ${insertIntoEvent}
      select account_id, $7, ($8::uuid[])[row_number() over ()], kind || '-claimed', $2, 'agent', $9, project_id, kind, work_id::text, name, null, null
      from claimed
    )${kinds.map(([, { claimed }]) => claimed.with.map((cte) => `, ${cte}`).join('')).join('')}
    select work_id, kind, epoch, ${ofKind(({ claimed }) => `(${claimed.payload})`)} as payload from claimed`);
}

export interface Claiming {
  accountId: string;
  agentId: string;
  instanceId: string;
  max: number;
  requestId: string;
  /** Of the secret that the agent's token was given for: one of a secret before claims nothing. */
  generation: number;
}

export function claim(
  tx: Transaction,
  claimWork: Statement<ClaimedWork>,
  by: Claiming,
  { now, newId }: { now: Date; newId: NewId },
  times: WorkTimes,
): readonly ClaimedWork[] {
  const lease = after(now, times.leaseSeconds);
  const bound = after(now, times.runLimitSeconds + times.graceSeconds);
  const eventIds = Array.from({ length: by.max }, newId);
  const held = [by.accountId, by.agentId, by.max, by.instanceId, lease, bound];
  return tx.collect(claimWork, [...held, now, eventIds, by.requestId, by.generation]);
}
