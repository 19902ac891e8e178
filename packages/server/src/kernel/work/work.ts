/**
 * Leased work: everything that an agent has to do is a row in `work`.
 *
 * Terminology
 *   work      one task; its id is the id of the resource that it is about
 *   owner     the slice that implements a kind of work: its payload, and the effects of its start and end
 *   claim     an instance of the agent takes queued work, with the next epoch
 *   lease     how long a claim is valid without a heartbeat
 *   silent    the lease expired; the same epoch may still come back during the grace period
 *   bound     a time at which work ends regardless of its agent
 *   key id    set on work that only the holder of one certificate can do
 *   due       `due_at` is the next moment at which the sweep must look at a row, or an earlier one. A
 *             statement that moves a bound forward in time, or changes the state, writes it. A statement that
 *             only extends a lease leaves it, and the sweep writes the exact moment (docs/adr/0034)
 *
 * States: queued → held ⇄ silent → ended; held or silent → queued when it is given back. A holder with an old
 * epoch is refused. Claims are in claim.ts, reports in held-work.ts, time limits in work-sweep.ts.
 */
import type { instanceAbilities, TestResult, WorkCommand } from '@headgate/contract';
import { runKinds } from '@headgate/contract/without-schemas';
import { addSeconds } from '../clock.ts';
import { insertStatement, statement, type Transaction, typed } from '../database/database.ts';
import type { EventSource } from '../database/events.ts';
import type { Wakes } from '../database/wakes.ts';
import type { NewId } from '../identifiers.ts';
import type { Metrics } from '../metrics.ts';
import type { Scope } from '../security/permissions.ts';
import { createMachine } from './machine.ts';

export const workStates = createMachine({
  queued: ['held', 'ended'],
  held: ['silent', 'queued', 'ended'],
  silent: ['held', 'queued', 'ended'],
  ended: [],
});

export interface WorkTimes {
  leaseSeconds: number;
  graceSeconds: number;
  heartbeatSeconds: number;
  /** How long work may wait for a claim. */
  queueLimitSeconds: number;
  /** How long an agent may hold work, even with heartbeats. */
  runLimitSeconds: number;
}

export interface WorkRow {
  work_id: string;
  account_id: string;
  /** Null, like the environment, for work of the account that belongs to no project. */
  project_id: string | null;
  environment_name: string | null;
  agent_id: string;
  /** One of the kinds that slices own. */
  kind: string;
  /** The name of the subject in its events. */
  name: string;
  epoch: number;
}

/** The part of work that its events show. */
export type WorkSubject = Pick<WorkRow, 'work_id' | 'project_id' | 'environment_name' | 'name'>;

/** The transaction in which the owner of work handles a change. */
export interface WorkMoment {
  tx: Transaction;
  accountId: string;
  source: EventSource;
  now: Date;
  newId: NewId;
}

export interface WorkEnd {
  workId: string;
  status: 'SUCCESS' | 'FAILED' | 'CANCELLED' | 'FORBIDDEN';
  message?: string | undefined;
  /**
   * The result that the holder reported, apart from status and message. Its type is known to the owner only.
   */
  result?: unknown;
  /** The name of the caller that cancelled it, if it was cancelled. */
  requestedBy?: string | undefined;
  /** The holder had begun, and its end or its steps are not known, so it may have done more than it reported. */
  isLost?: boolean;
}

/** Implements a kind of work. Each call is about several rows of one account. */
export interface WorkOwner {
  /**
   * SQL for the payload of claimed work: a scalar subquery about a row of `claimed`, and the CTEs that it
   * needs.
   */
  claimed: { with: readonly string[]; payload: string };
  onStarted(moment: WorkMoment, works: readonly WorkSubject[]): void;
  /** Tests of one work have ended. Only for kinds of work that run tests. */
  onTested?(moment: WorkMoment, workId: string, results: readonly TestResult[]): void;
  onEnded(moment: WorkMoment, ends: readonly WorkEnd[]): void;
  /** The agent stopped responding; `onCameBack` is the reverse. */
  onSilent(moment: WorkMoment, workIds: readonly string[]): void;
  onCameBack(moment: WorkMoment, workIds: readonly string[]): void;
  onRequeued(moment: WorkMoment, works: readonly WorkSubject[]): void;
}

/** The dependencies of a work owner. */
export interface WorkServices {
  metrics: Metrics;
  wakes: Wakes;
  times: WorkTimes;
}

/** By the kind of work. */
export type WorkOwners = ReadonlyMap<string, WorkOwner>;

export function requireOwner(owners: WorkOwners, kind: string): WorkOwner {
  const owner = owners.get(kind);
  if (owner === undefined) throw new Error(`No slice owns work of kind ${JSON.stringify(kind)}.`);
  return owner;
}

/** Which claims of the agent to wake for queued work: those without places for runs are woken only with all. */
export function chooseTarget(works: readonly Pick<WorkRow, 'kind'>[]): 'one' | 'all' {
  return works.every(({ kind }) => runKinds.includes(kind)) ? 'one' : 'all';
}

const insertWork = insertStatement(
  'work',
  {
    account_id: 'uuid',
    work_id: 'uuid',
    project_id: 'uuid?',
    environment_name: 'text?',
    agent_id: 'uuid',
    kind: 'text',
    name: 'text',
    created_at: 'timestamptz',
    key_id: 'text?',
    claimable_until: 'timestamptz?',
    requested_by: 'uuid?',
    ability: 'text?',
  },
  {
    derived: {
      state: "'queued'",
      queued_at: 'given.created_at',
      // For a restricted agent the sweep checks new work at once. Other work is usually claimed before the
      // first check, which covers restrictions made in between.
      due_at: `given.created_at + case when exists (
        select from agent a where a.account_id = given.account_id and a.agent_id = given.agent_id and a.restricted_access)
        then interval '0' else interval '2 seconds' end`,
    },
  },
);

/** For work that is useless after some time, and work sealed for one key. */
export interface Sealing {
  keyId?: string;
  claimableUntil: Date;
}

export function enqueueWork(
  tx: Transaction,
  work: Omit<WorkRow, 'epoch'> & {
    /** The principal that must still have permission to run pipelines there when the work is claimed. */
    requested_by?: string;
    /** What an instance must be able to do beside the kind. */
    ability?: (typeof instanceAbilities)[number];
  },
  now: Date,
  sealing?: Sealing,
): void {
  tx.send(insertWork, {
    account_id: work.account_id,
    work_id: work.work_id,
    project_id: work.project_id,
    environment_name: work.environment_name,
    agent_id: work.agent_id,
    kind: work.kind,
    name: work.name,
    created_at: now,
    key_id: sealing?.keyId ?? null,
    claimable_until: sealing?.claimableUntil ?? null,
    requested_by: work.requested_by ?? null,
    ability: work.ability ?? null,
  });
}

const updateEnded = statement(
  {
    parameters: {
      account_id: 'uuid',
      work_ids: 'uuid[]',
      now: 'timestamptz',
      states: typed<string[]>('work_state[]'),
    },
  },
  `
  update work set state = 'ended', ended_at = $now, command = null, due_at = null
  where account_id = $account_id and work_id = any ($work_ids::uuid[]) and state = any ($states)`,
);

export function endWork(tx: Transaction, accountId: string, workIds: readonly string[], now: Date): void {
  if (workIds.length > 0)
    tx.send(updateEnded, {
      account_id: accountId,
      work_ids: workIds,
      now,
      states: workStates.listSources('ended'),
    });
}

const updateRequeued = statement(
  {
    parameters: {
      account_id: 'uuid',
      work_ids: 'uuid[]',
      states: typed<string[]>('work_state[]'),
      now: 'timestamptz',
    },
  },
  `
  update work set state = 'queued', queued_at = $now, instance_id = null, lease_expires_at = null, silent_since = null,
    run_bound = null, due_at = $now
  where account_id = $account_id and work_id = any ($work_ids::uuid[]) and state = any ($states)`,
);

export function requeueWork(tx: Transaction, accountId: string, workIds: readonly string[], now: Date): void {
  if (workIds.length > 0)
    tx.send(updateRequeued, {
      account_id: accountId,
      work_ids: workIds,
      states: workStates.listSources('queued'),
      now,
    });
}

const commandWork = statement(
  {
    parameters: {
      account_id: 'uuid',
      work_ids: 'uuid[]',
      command: typed<string>('work_command'),
      bound: 'timestamptz?',
      principal_id: 'uuid',
    },
    row: {
      work_id: 'uuid',
      state: typed<'queued' | 'held' | 'silent'>('work_state'),
      agent_id: 'uuid',
      command_by: 'text?',
    },
  },
  `
  update work set command = case when command = 'force-cancel' then command else $command end,
    command_by = case when command = 'force-cancel' or command = $command then command_by
      else (select name from principal where account_id = $account_id and principal_id = $principal_id) end,
    command_bound = coalesce(command_bound, $bound), due_at = least(due_at, $bound)
  where account_id = $account_id and work_id = any (array(
    select work_id from work where account_id = $account_id and work_id = any ($work_ids::uuid[]) and state <> 'ended'
    order by work_id for update))
  returning work_id, state, agent_id, command_by`,
);

/**
 * Asks the holders of works to end them, and returns those that had not ended. A forced command has a bound at which
 * the work ends regardless of its agent. Repeating the command neither moves the bound nor weakens the command.
 */
export function sendCommand(
  tx: Transaction,
  { accountId, actorId }: Scope,
  workIds: readonly string[],
  command: WorkCommand,
  now: Date,
  times: WorkTimes,
) {
  const bound = command === 'force-cancel' ? addSeconds(now, times.leaseSeconds + times.graceSeconds) : null;
  return tx.query(commandWork, {
    account_id: accountId,
    work_ids: workIds,
    command,
    bound,
    principal_id: actorId,
  });
}

export function describeCancellation(requestedBy: string | undefined): string {
  return requestedBy === undefined ? 'Cancelled' : `Cancelled by ${JSON.stringify(requestedBy)}`;
}

const commandEnvironment = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      environment_name: 'text',
      now: 'timestamptz',
      bound: 'timestamptz',
    },
    row: { agent_id: 'uuid' },
  },
  `
  update work set command = 'force-cancel', command_bound = case when state = 'queued'
    then $now::timestamptz else $bound::timestamptz end,
    due_at = least(due_at, case when state = 'queued' then $now::timestamptz else $bound::timestamptz end)
  where account_id = $account_id and project_id = $project_id and environment_name = $environment_name and state <> 'ended'
  returning agent_id`,
);

/**
 * Cancels all work in an environment: holders are asked to end it, and the sweep ends work without a holder.
 * Returns the agents to wake.
 */
export async function cancelWorkIn(
  tx: Transaction,
  place: { accountId: string; projectId: string; environmentName: string },
  now: Date,
  times: WorkTimes,
): Promise<string[]> {
  const bound = addSeconds(now, times.leaseSeconds + times.graceSeconds);
  const rows = await tx.query(commandEnvironment, {
    account_id: place.accountId,
    project_id: place.projectId,
    environment_name: place.environmentName,
    now,
    bound,
  });
  return [...new Set(rows.map((row) => row.agent_id))];
}

const commandsForAgent = statement(
  {
    parameters: { account_id: 'uuid', agent_id: 'uuid', instance_id: 'uuid' },
    row: {
      work_id: 'uuid',
      epoch: 'integer',
      command: typed<WorkCommand>('work_command'),
      command_by: 'text?',
    },
  },
  `
  select work_id, epoch, command, command_by from work
  where account_id = $account_id and agent_id = $agent_id and command is not null and state in ('held',
    'silent') and instance_id = $instance_id`,
);

export function collectCommands(tx: Transaction, accountId: string, agentId: string, instanceId: string) {
  return tx.collect(commandsForAgent, { account_id: accountId, agent_id: agentId, instance_id: instanceId });
}
