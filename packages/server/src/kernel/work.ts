/**
 * Leased work (design law 6): whatever an agent is to do is a row in `work`.
 *
 * Terminology
 *   work      one thing to do; its id is the id of what it is about (an execution)
 *   owner     the slice that knows what a kind of work means: what the agent is told, and what its start and end change
 *   claim     an instance of the agent takes queued work, with the next epoch
 *   lease     how long a claim holds without a sign of life
 *   silent    the lease ran out; the same epoch may still come back within the grace
 *   bound     a time at which work ends, whatever its agent does
 *   key id    of work that only the holder of one certificate can do; nobody else gets it
 *
 * States: queued → held ⇄ silent → ended; held or silent → queued when it is given back. A holder with an old epoch is refused.
 */
import type { CheckedSecrets, WorkCommand, WorkKind } from '@headgate/contract';
import {
  changed,
  type Database,
  insertStatement,
  isDatabaseError,
  type Read,
  type Statement,
  statement,
  type Transaction,
} from './database.ts';
import { type EventSource, insertIntoEvent } from './events.ts';
import type { NewId } from './identifiers.ts';
import { machine } from './machine.ts';
import type { Wakes } from './wakes.ts';

export const workStates = machine({
  queued: ['held', 'ended'],
  held: ['silent', 'queued', 'ended'],
  silent: ['held', 'queued', 'ended'],
  ended: [],
});

export interface WorkTimes {
  leaseSeconds: number;
  graceSeconds: number;
  heartbeatSeconds: number;
  /** How long work waits for an agent to claim it. */
  queueLimitSeconds: number;
  /** How long an agent may hold work, heartbeats or not. */
  runLimitSeconds: number;
}

export interface WorkRow {
  work_id: string;
  account_id: string;
  /** Null with the environment: work of the account, such as a secret for a vault. */
  project_id: string | null;
  environment_name: string | null;
  agent_id: string;
  kind: WorkKind;
  /** What it is about, as its events name it: a pipeline. */
  name: string;
  epoch: number;
}

/** What the events of a work tell of it. */
export type WorkSubject = Pick<WorkRow, 'work_id' | 'project_id' | 'name'>;

/** The transaction in which the owner of some work hears of it. */
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
  /** Of a secret that was written. */
  receipt?: string | undefined;
  /** Of secrets that an agent was asked about. */
  checkedSecrets?: CheckedSecrets | undefined;
}

/** What a kind of work means. All calls are about many works of one account at once. */
export interface WorkOwner {
  /** What the agent is told of claimed work, as SQL: a scalar subquery about a row of `claimed`, and what it needs in the `with` before it. */
  claimed: { with: readonly string[]; payload: string };
  started(moment: WorkMoment, works: readonly WorkSubject[]): void;
  ended(moment: WorkMoment, ends: readonly WorkEnd[]): void;
  /** Its agent does not answer; `came back` is the reverse. */
  silent(moment: WorkMoment, workIds: readonly string[]): void;
  cameBack(moment: WorkMoment, workIds: readonly string[]): void;
  requeued(moment: WorkMoment, works: readonly WorkSubject[]): void;
}

export type WorkOwners = Readonly<Record<WorkKind, WorkOwner>>;

const insertWork = insertStatement(
  'work',
  {
    account_id: 'uuid',
    work_id: 'uuid',
    project_id: 'uuid',
    environment_name: 'text',
    agent_id: 'uuid',
    kind: 'text',
    name: 'text',
    created_at: 'timestamptz',
    key_id: 'text',
    claimable_until: 'timestamptz',
  },
  { derived: { state: "'queued'", queued_at: 'given.created_at' } },
);

/** Of work that is worth nothing when it has waited for too long, and that, if it is sealed, only one key opens. */
export interface Sealing {
  keyId?: string;
  claimableUntil: Date;
}

export function enqueueWork(
  tx: Transaction,
  work: Omit<WorkRow, 'epoch'>,
  now: Date,
  sealing?: Sealing,
): void {
  tx.send(insertWork, [
    work.account_id,
    work.work_id,
    work.project_id,
    work.environment_name,
    work.agent_id,
    work.kind,
    work.name,
    now,
    sealing?.keyId ?? null,
    sealing?.claimableUntil ?? null,
  ]);
}

/** Claimed work as its agent is told of it; `payload` is what the owner of its kind says. */
export type ClaimedWork = Pick<WorkRow, 'work_id' | 'kind' | 'epoch'> & { payload: object };

/** SQL: whether the allowlist of its agent names the place of a work; what is in no place, as the writing of a secret, needs no name. */
export const isAllowed = (work: string) => `(${work}.project_id is null or exists (
  select from agent_allowed_place p
  where p.account_id = ${work}.account_id and p.agent_id = ${work}.agent_id and p.project_id = ${work}.project_id
    and (p.environment_name is null or p.environment_name = ${work}.environment_name)))`;

/**
 * Claims queued work, as far as the instance may have it: not while its agent is paused or it is to restart, only kinds that it knows, and of a
 * restricted agent only what its allowlist names (endForbiddenWork ends the rest). Notes it and answers with what the agent is told, in one statement, so that a claim is one trip. The chosen ones are an
 * array: joined, they would be looked for among all work of the account while the plan is from a small table.
 */
export function claimStatement(owners: WorkOwners): Statement<ClaimedWork> {
  const kinds = Object.entries(owners);
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
        lease_expires_at = $5, run_bound = $6, silent_since = null
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

export interface HeldRow extends WorkSubject {
  kind: WorkKind;
  epoch: number;
  state: 'queued' | 'held' | 'silent' | 'ended';
  report_sequence: number;
  command: WorkCommand | null;
}

// Locked in the order of their ids, so that two batches never wait for each other.
const lockWork = statement<HeldRow>(`
  select work_id, project_id, kind, name, epoch, state, report_sequence, command from work
  where account_id = $1 and agent_id = $2 and work_id = any ($3::uuid[])
  order by work_id
  for update`);

const selectHeld = statement<HeldRow>(`
  select work_id, project_id, kind, name, epoch, state, report_sequence, command from work
  where account_id = $1 and agent_id = $2 and work_id = any ($3::uuid[])`);

/** What is so of the work that an agent says it holds, at this moment. */
export function readHeld(
  read: Read,
  accountId: string,
  agentId: string,
  workIds: readonly string[],
): Promise<HeldRow[]> {
  return read(selectHeld, [accountId, agentId, workIds]);
}

const lockAsRead = statement(`
  select case when count(*) filter (where is_so = was_so) < cardinality($2::uuid[]) then refuse('${changed}') end
  from (
    select concat_ws(' ', epoch, state, report_sequence, command) as is_so, ($3::text[])[array_position($2::uuid[], work_id)] as was_so
    from work where account_id = $1 and work_id = any ($2::uuid[])
    order by work_id
    for update
  ) held`);

/** Locks work that was read before, and refuses the transaction when it is not as it was: see hasChanged. */
export function lockAsItWas(tx: Transaction, accountId: string, rows: readonly HeldRow[]): void {
  const states = rows.map((row) =>
    [row.epoch, row.state, row.report_sequence, row.command ?? []].flat().join(' '),
  );
  tx.send(lockAsRead, [accountId, rows.map((row) => row.work_id), states]);
}

export function hasChanged(failure: unknown): boolean {
  return isDatabaseError(failure) && failure.code === changed;
}

/** Locks what an agent says it holds, and answers what is so. */
export function lockHeld(
  tx: Transaction,
  accountId: string,
  agentId: string,
  workIds: readonly string[],
): Promise<HeldRow[]> {
  return tx.query(lockWork, [accountId, agentId, workIds]);
}

const extendLeases = statement(`
  update work set state = 'held', silent_since = null, lease_expires_at = $3
  where account_id = $1 and work_id = any ($2::uuid[])`);

export function extend(
  tx: Transaction,
  accountId: string,
  workIds: readonly string[],
  now: Date,
  times: WorkTimes,
): void {
  if (workIds.length > 0) tx.send(extendLeases, [accountId, workIds, after(now, times.leaseSeconds)]);
}

// By arrays, as claimWork.
const applyReported = statement(`
  update work set report_sequence = ($3::integer[])[array_position($2::uuid[], work_id)], silent_since = null, lease_expires_at = $5,
    state = case when work_id = any ($4::uuid[]) then 'ended' else 'held' end::work_state,
    ended_at = case when work_id = any ($4::uuid[]) then $6::timestamptz end,
    command = case when work_id = any ($4::uuid[]) then null else command end
  where account_id = $1 and work_id = any ($2::uuid[])`);

/** What was heard of held work: by `sequences` how far, and what of it has ended; the rest is held for another lease. */
export function noteReported(
  tx: Transaction,
  accountId: string,
  heard: { sequences: ReadonlyMap<string, number>; ended: ReadonlySet<string> },
  now: Date,
  times: WorkTimes,
): void {
  const ids = [...heard.sequences.keys()];
  const lease = after(now, times.leaseSeconds);
  tx.send(applyReported, [accountId, ids, [...heard.sequences.values()], [...heard.ended], lease, now]);
}

const endWork = statement(`
  update work set state = 'ended', ended_at = $3, command = null
  where account_id = $1 and work_id = any ($2::uuid[]) and state = any ($4)`);

export function endAll(tx: Transaction, accountId: string, workIds: readonly string[], now: Date): void {
  if (workIds.length > 0) tx.send(endWork, [accountId, workIds, now, workStates.sources('ended')]);
}

const requeueWork = statement(`
  update work set state = 'queued', queued_at = $4, instance_id = null, lease_expires_at = null, silent_since = null,
    run_bound = null
  where account_id = $1 and work_id = any ($2::uuid[]) and state = any ($3)`);

export function requeueAll(tx: Transaction, accountId: string, workIds: readonly string[], now: Date): void {
  if (workIds.length > 0) tx.send(requeueWork, [accountId, workIds, workStates.sources('queued'), now]);
}

const commandWork = statement<{ state: 'queued' | 'held' | 'silent'; agent_id: string }>(`
  update work set command = case when command = 'force-cancel' then command else $3 end,
    command_bound = coalesce(command_bound, $4)
  where account_id = $1 and work_id = $2 and state <> 'ended'
  returning state, agent_id`);

/**
 * Asks the holder of a work to end it. A forced command has a bound, at which the work ends without its agent; asking again neither
 * moves the bound nor softens the command.
 */
export function commandTo(
  tx: Transaction,
  accountId: string,
  workId: string,
  command: WorkCommand,
  now: Date,
  times: WorkTimes,
) {
  const bound = command === 'force-cancel' ? after(now, times.leaseSeconds + times.graceSeconds) : null;
  return tx.query(commandWork, [accountId, workId, command, bound]);
}

const commandEnvironment = statement<{ agent_id: string }>(`
  update work set command = 'force-cancel', command_bound = case when state = 'queued' then $4::timestamptz else $5::timestamptz end
  where account_id = $1 and project_id = $2 and environment_name = $3 and state <> 'ended'
  returning agent_id`);

/** Cancels all work in an environment: the holders are told, and the sweep ends what nobody holds. Answers the agents to wake. */
export async function cancelWorkIn(
  tx: Transaction,
  place: { accountId: string; projectId: string; environmentName: string },
  now: Date,
  times: WorkTimes,
): Promise<string[]> {
  const bound = after(now, times.leaseSeconds + times.graceSeconds);
  const rows = await tx.query(commandEnvironment, [
    place.accountId,
    place.projectId,
    place.environmentName,
    now,
    bound,
  ]);
  return [...new Set(rows.map((row) => row.agent_id))];
}

const commandsForAgent = statement<{ work_id: string; epoch: number; command: WorkCommand }>(`
  select work_id, epoch, command from work
  where account_id = $1 and agent_id = $2 and command is not null and state in ('held', 'silent') and instance_id = $3`);

export function commandsFor(tx: Transaction, accountId: string, agentId: string, instanceId: string) {
  return tx.collect(commandsForAgent, [accountId, agentId, instanceId]);
}

interface SweptRow extends WorkRow {
  agent_name: string;
  state: 'queued' | 'held' | 'silent';
  report_sequence: number;
  command: WorkCommand | null;
  fate: 'silent' | 'grace passed' | 'command bound' | 'run bound' | 'queue bound' | 'claim bound';
}

/** The most works that one round of the sweep moves. */
export const sweepBatch = 200;

const sweepable = statement<SweptRow>(`
  select w.account_id, w.work_id, w.project_id, w.environment_name, w.agent_id, a.name as agent_name, w.kind, w.name, w.epoch, w.state, w.report_sequence, w.command,
    case
      when w.command_bound < $1 then 'command bound'
      when w.state = 'queued' and w.claimable_until < $1 then 'claim bound'
      when w.state = 'queued' then 'queue bound'
      when w.run_bound < $1 then 'run bound'
      when w.state = 'silent' then 'grace passed'
      else 'silent'
    end as fate
  from work w join agent a on a.account_id = w.account_id and a.agent_id = w.agent_id
  where (w.state = 'held' and w.lease_expires_at < $1)
     or (w.state = 'silent' and w.silent_since < $2)
     or (w.state in ('held', 'silent') and (w.command_bound < $1 or w.run_bound < $1))
     or (w.state = 'queued' and (w.queued_at < $3 or w.command_bound < $1 or w.claimable_until < $1))
  order by w.account_id, w.work_id
  limit ${sweepBatch}
  for update of w skip locked`);

const markSilent = statement(`
  update work set state = 'silent', silent_since = $3
  where account_id = $1 and work_id = any ($2::uuid[]) and state = any ($4)`);

/** Ended work is kept for a while, so that a report that is sent again is recognised. */
const forgetAfterSeconds = 600;
const forgetEnded = statement(
  `
  delete from work where (account_id, work_id) in (
    select account_id, work_id from work where state = 'ended' and ended_at < $1 limit 5000)`,
  { alone: true },
);

/**
 * One round over work whose time has come: leases that ran out, graces that passed, bounds. Several servers may sweep at once.
 * Answers how many works it moved, at most a batch; call again while it is a full one.
 */
export async function sweepWork(
  services: { database: Database; newId: NewId; wakes: Wakes },
  owners: WorkOwners,
  times: WorkTimes,
  now: Date,
): Promise<number> {
  const graceStart = after(now, -times.graceSeconds);
  const queueStart = after(now, -times.queueLimitSeconds);
  return services.database.transaction(async (tx) => {
    tx.send(forgetEnded, [after(now, -forgetAfterSeconds)]);
    const rows = await tx.query(sweepable, [now, graceStart, queueStart]);
    for (const [accountId, inAccount] of Map.groupBy(rows, (row) => row.account_id)) {
      const source: EventSource = { accountId, actorId: null, actorKind: 'system', requestId: null };
      const moment: WorkMoment = { tx, accountId, source, now, newId: services.newId };
      for (const [kind, works] of Map.groupBy(inAccount, (row) => row.kind)) {
        const requeued = sweepKind(moment, owners[kind], works, times);
        tx.afterCommit(() => {
          for (const work of requeued) services.wakes.wake(work.agent_id, 'one');
        });
      }
    }
    return rows.length;
  });
}

/** Answers the work that is queued again. */
function sweepKind(
  moment: WorkMoment,
  owner: WorkOwner,
  works: readonly SweptRow[],
  times: WorkTimes,
): readonly SweptRow[] {
  const { tx, accountId, now } = moment;
  const silent = works.filter((work) => work.fate === 'silent').map((work) => work.work_id);
  if (silent.length > 0) {
    tx.send(markSilent, [accountId, silent, now, workStates.sources('silent')]);
    owner.silent(moment, silent);
  }
  // What was claimed but never begun has done nothing: another claim may have it.
  const untouched = works.filter(
    (work) => work.fate === 'grace passed' && work.report_sequence === 0 && work.command === null,
  );
  if (untouched.length > 0) {
    const ids = untouched.map((work) => work.work_id);
    requeueAll(tx, accountId, ids, now);
    owner.requeued(moment, untouched);
  }
  const ends = works
    .filter((work) => work.fate !== 'silent' && !untouched.includes(work))
    .map((work) => endOf(work, times));
  if (ends.length > 0) {
    endAll(
      tx,
      accountId,
      ends.map((end) => end.workId),
      now,
    );
    owner.ended(moment, ends);
  }
  return untouched;
}

function endOf(work: SweptRow, times: WorkTimes): WorkEnd {
  const agent = `The agent ${JSON.stringify(work.agent_name)}`;
  if (work.command !== null && work.state === 'queued') {
    return {
      workId: work.work_id,
      status: 'CANCELLED',
      message: 'It was cancelled before an agent claimed it.',
    };
  }
  if (work.command !== null) {
    const message = `${agent} did not confirm the cancellation in time; what it was doing may have gone on for a while.`;
    return { workId: work.work_id, status: 'CANCELLED', message };
  }
  const failed = (message: string): WorkEnd => ({ workId: work.work_id, status: 'FAILED', message });
  if (work.fate === 'queue bound')
    return failed(`${agent} did not claim it within ${times.queueLimitSeconds} s: is it running?`);
  if (work.fate === 'claim bound')
    return failed(`${agent} did not claim it in time: is it running? Or its secret was refreshed.`);
  if (work.fate === 'run bound') return failed(`${agent} did not end it within ${times.runLimitSeconds} s.`);
  return failed(
    `${agent} fell silent: no sign of life for ${times.leaseSeconds + times.graceSeconds} s. What it was doing may be half done.`,
  );
}

function after(time: Date, seconds: number): Date {
  return new Date(time.getTime() + seconds * 1_000);
}
