/** The sweep of due work: expired leases, grace periods and time limits (work.ts). */
import type { WorkCommand } from '@headgate/contract';
import { addSeconds } from '../clock.ts';
import { type Database, statement, typed } from '../database/database.ts';
import type { EventSource } from '../database/events.ts';
import type { Wakes } from '../database/wakes.ts';
import type { NewId } from '../identifiers.ts';
import { isAllowed } from './claim.ts';
import {
  chooseTarget,
  describeCancellation,
  endWork,
  requeueWork,
  requireOwner,
  type WorkEnd,
  type WorkMoment,
  type WorkOwner,
  type WorkOwners,
  type WorkRow,
  type WorkTimes,
  workStates,
} from './work.ts';

interface SweptRow extends WorkRow {
  agent_name: string;
  state: 'queued' | 'held' | 'silent';
  report_sequence: number;
  command: WorkCommand | null;
  command_by: string | null;
  /** Null if nothing is due yet; the row got its exact `due_at`. */
  due_reason:
    | 'silent'
    | 'grace passed'
    | 'command bound'
    | 'run bound'
    | 'queue bound'
    | 'claim bound'
    | 'forbidden'
    | null;
}

type MovedRow = SweptRow & { due_reason: NonNullable<SweptRow['due_reason']> };

/** The maximum number of rows per round. */
export const sweepBatch = 500;

const sqlInterval = (from: string) =>
  `make_interval(secs => extract(epoch from $now::timestamptz - ${from}::timestamptz)::double precision)`;

/** SQL: the next moment at which something is due for the work `w`. */
const nextMoment = `least(w.command_bound, case w.state
    when 'queued' then least(w.claimable_until, w.queued_at + ${sqlInterval('$queue_start')})
    when 'held' then least(w.lease_expires_at, w.run_bound)
    else least(w.silent_since + ${sqlInterval('$grace_start')}, w.run_bound)
  end)`;

// By ctid array: with a join the planner might scan the whole table, if it planned for a small one.
const sweepable = statement(
  {
    parameters: { now: 'timestamptz', grace_start: 'timestamptz', queue_start: 'timestamptz' },
    row: {
      agent_name: 'text',
      state: typed<'queued' | 'held' | 'silent'>('work_state'),
      report_sequence: 'integer',
      command: typed<WorkCommand | null>('work_command'),
      command_by: 'text?',
      due_reason: typed<
        | 'silent'
        | 'grace passed'
        | 'command bound'
        | 'run bound'
        | 'queue bound'
        | 'claim bound'
        | 'forbidden'
        | null
      >('text'),
      work_id: 'uuid',
      account_id: 'uuid',
      project_id: 'uuid?',
      environment_name: 'text?',
      agent_id: 'uuid',
      kind: typed<WorkRow['kind']>('text'),
      name: 'text',
      epoch: 'integer',
    },
    alone: true,
  },
  `
  with due as (
    select w.ctid as place, w.account_id, w.work_id, w.project_id, w.environment_name, w.agent_id, a.name as agent_name, w.kind, w.name, w.epoch,
      w.state, w.report_sequence, w.command, w.command_by,
      case
        when w.command_bound < $now then 'command bound'
        when w.state = 'queued' and w.claimable_until < $now then 'claim bound'
        when w.state = 'queued' and w.queued_at < $queue_start then 'queue bound'
        when w.state = 'queued' and w.command is null and a.restricted_access and not ${isAllowed('w')} then 'forbidden'
        when w.state <> 'queued' and w.run_bound < $now then 'run bound'
        when w.state = 'silent' and w.silent_since < $grace_start and w.claimable_until < $now then 'claim bound'
        when w.state = 'silent' and w.silent_since < $grace_start then 'grace passed'
        when w.state = 'held' and w.lease_expires_at < $now then 'silent'
      end as due_reason
    from work w join agent a on a.account_id = w.account_id and a.agent_id = w.agent_id
    where w.due_at <= $now
    order by w.due_at
    limit ${sweepBatch}
    for update of w skip locked
  ), later as (
    update work w set due_at = ${nextMoment}
    where w.ctid = any (array(select place from due where due_reason is null))
  )
  select account_id, work_id, project_id, environment_name, agent_id, agent_name, kind, name, epoch, state, report_sequence, command, command_by, due_reason from due`,
);

// Usually nothing is due, which costs one lookup in each of two indexes. `order by` keeps the planner on the
// index; with `exists` it might scan the table.
const anythingDue = statement(
  { parameters: { now: 'timestamptz', forget_before: 'timestamptz' }, row: { due: 'boolean' } },
  `
  select coalesce(
    (select true from work where due_at <= $now order by due_at limit 1),
    (select true from work where state = 'ended' and ended_at < $forget_before order by ended_at limit 1),
    false) as due`,
);

const markSilent = statement(
  {
    parameters: {
      account_id: 'uuid',
      work_ids: 'uuid[]',
      now: 'timestamptz',
      states: typed<string[]>('work_state[]'),
      grace_end: 'timestamptz',
    },
  },
  `
  update work set state = 'silent', silent_since = $now, due_at = least($grace_end, command_bound, run_bound)
  where account_id = $account_id and work_id = any ($work_ids::uuid[]) and state = any ($states)`,
);

/** Ended work is kept for a while, so that repeated reports are recognized. */
const forgetAfterSeconds = 600;
const forgetEnded = statement(
  { parameters: { forget_before: 'timestamptz' }, alone: true },
  `
  delete from work where ctid = any (array(
    select ctid from work where state = 'ended' and ended_at < $forget_before order by ended_at limit 5000
      for update skip locked))`,
);

/**
 * Runs one round over due work: expired leases, grace periods and time limits. Several servers may sweep at
 * once. Returns how many rows it moved, and whether more may be due.
 */
export async function sweepWork(
  services: { database: Database; newId: NewId; wakes: Wakes },
  owners: WorkOwners,
  times: WorkTimes,
  now: Date,
): Promise<{ moved: number; isMore: boolean }> {
  const forgetBefore = addSeconds(now, -forgetAfterSeconds);
  const [look] = await services.database.read(anythingDue, { now, forget_before: forgetBefore });
  if (look?.due !== true) return { moved: 0, isMore: false };
  const graceStart = addSeconds(now, -times.graceSeconds);
  const queueStart = addSeconds(now, -times.queueLimitSeconds);
  return services.database.transaction(async (tx) => {
    tx.send(forgetEnded, { forget_before: forgetBefore });
    const looked = await tx.query(sweepable, { now, grace_start: graceStart, queue_start: queueStart });
    const rows = looked.filter((row): row is MovedRow => row.due_reason !== null);
    for (const [accountId, inAccount] of Map.groupBy(rows, (row) => row.account_id)) {
      const source: EventSource = { accountId, actorId: null, actorKind: 'system', requestId: null };
      const moment: WorkMoment = { tx, accountId, source, now, newId: services.newId };
      for (const [kind, works] of Map.groupBy(inAccount, (row) => row.kind)) {
        const requeued = sweepKind(moment, requireOwner(owners, kind), works, times);
        tx.afterCommit(() => {
          for (const work of requeued) services.wakes.wake(work.agent_id, chooseTarget([work]));
        });
      }
    }
    return { moved: rows.length, isMore: looked.length === sweepBatch };
  });
}

/** Returns the work that is queued again. */
function sweepKind(
  moment: WorkMoment,
  owner: WorkOwner,
  works: readonly MovedRow[],
  times: WorkTimes,
): readonly MovedRow[] {
  const { tx, accountId, now } = moment;
  const silent = works.filter((work) => work.due_reason === 'silent').map((work) => work.work_id);
  if (silent.length > 0) {
    const graceEnd = addSeconds(now, times.graceSeconds);
    tx.send(markSilent, {
      account_id: accountId,
      work_ids: silent,
      now,
      states: workStates.listSources('silent'),
      grace_end: graceEnd,
    });
    owner.onSilent(moment, silent);
  }
  // Work that was claimed but not started has had no effect, so it may be claimed again.
  const untouched = works.filter(
    (work) => work.due_reason === 'grace passed' && work.report_sequence === 0 && work.command === null,
  );
  if (untouched.length > 0) {
    const ids = untouched.map((work) => work.work_id);
    requeueWork(tx, accountId, ids, now);
    owner.onRequeued(moment, untouched);
  }
  const ends = works
    .filter((work) => work.due_reason !== 'silent' && !untouched.includes(work))
    .map((work) => ({
      ...describeEnd(work, times),
      isLost: work.state !== 'queued' && work.report_sequence > 0,
    }));
  if (ends.length > 0) {
    endWork(
      tx,
      accountId,
      ends.map((end) => end.workId),
      now,
    );
    owner.onEnded(moment, ends);
  }
  return untouched;
}

function describeEnd(work: MovedRow, times: WorkTimes): WorkEnd {
  const agent = `The agent ${JSON.stringify(work.agent_name)}`;
  const requestedBy = work.command_by ?? undefined;
  if (work.command !== null && work.state === 'queued') {
    return {
      workId: work.work_id,
      status: 'CANCELLED',
      message: `${describeCancellation(requestedBy)} before an agent claimed it.`,
      requestedBy,
    };
  }
  if (work.command !== null) {
    const message = `${describeCancellation(requestedBy)}. ${agent} did not confirm the cancellation in time; the work may have continued for a while.`;
    return { workId: work.work_id, status: 'CANCELLED', message, requestedBy };
  }
  if (work.due_reason === 'forbidden') return createForbiddenEnd(work);
  const createFailedEnd = (message: string): WorkEnd => ({ workId: work.work_id, status: 'FAILED', message });
  if (work.due_reason === 'queue bound')
    return createFailedEnd(
      `${agent} did not claim the work within ${times.queueLimitSeconds} s. Is the agent running?`,
    );
  if (work.due_reason === 'claim bound')
    return createFailedEnd(
      work.state === 'queued'
        ? `${agent} did not claim the work in time. Is the agent running, and does it have the current secret?`
        : `${agent} took the work and was silent until its time was over. The log of the agent says why it stopped.`,
    );
  if (work.due_reason === 'run bound')
    return createFailedEnd(`${agent} did not finish the work within ${times.runLimitSeconds} s.`);
  const silence = times.leaseSeconds + times.graceSeconds;
  return createFailedEnd(
    `${agent} stopped responding: no heartbeat for ${silence} s. The work may be partly done.`,
  );
}

export type ForbiddenRow = Pick<WorkRow, 'work_id' | 'environment_name'> & { agent_name: string };

/** The end of work at a place that is not on the allowlist of its restricted agent. */
export function createForbiddenEnd({
  work_id: workId,
  agent_name: agent,
  environment_name: environment,
}: ForbiddenRow): WorkEnd {
  const message =
    `The agent ${JSON.stringify(agent)} is restricted, and its allowlist does not include ` +
    `the environment ${JSON.stringify(environment)} of this project.`;
  return { workId, status: 'FORBIDDEN', message };
}
