/** What an instance says of the work that it holds, fenced by epochs (work.ts). */
import type { WorkCommand } from '@headgate/contract';
import { after } from '../clock.ts';
import { changed, isDatabaseError, type Read, statement, type Transaction } from '../database/database.ts';
import type { WorkSubject, WorkTimes } from './work.ts';

export interface HeldRow extends WorkSubject {
  kind: string;
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
  update work set state = 'held', silent_since = null, lease_expires_at = $3::timestamptz, due_at = least(due_at, $3::timestamptz)
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
  update work set report_sequence = ($3::integer[])[array_position($2::uuid[], work_id)], silent_since = null, lease_expires_at = $5::timestamptz,
    state = case when work_id = any ($4::uuid[]) then 'ended' else 'held' end::work_state,
    ended_at = case when work_id = any ($4::uuid[]) then $6::timestamptz end,
    command = case when work_id = any ($4::uuid[]) then null else command end,
    due_at = case when work_id = any ($4::uuid[]) then null else least(due_at, $5::timestamptz) end
  where account_id = $1 and work_id = any ($2::uuid[])`);

/**
 * What was heard of held work: by `sequences` how far, and what of it has ended; the rest is held for another
 * lease.
 */
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
