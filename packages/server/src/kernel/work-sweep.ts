/** Work whose time has come: leases that ran out, graces that passed, bounds (work.ts). */
import type { WorkCommand } from '@headgate/contract';
import { after } from './clock.ts';
import { type Database, statement } from './database.ts';
import type { EventSource } from './events.ts';
import type { NewId } from './identifiers.ts';
import type { Wakes } from './wakes.ts';
import {
  endAll,
  requeueAll,
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
