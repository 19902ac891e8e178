/** Reports and heartbeats of an instance for the work that it holds, fenced by epochs (work.ts). */
import type { WorkCommand } from '@headgate/contract';
import { addSeconds } from '../clock.ts';
import {
  type ColumnTypes,
  conflictCode,
  isDatabaseError,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../database/database.ts';
import type { WorkTimes } from './work.ts';

const heldRow = {
  work_id: 'uuid',
  project_id: 'uuid?',
  environment_name: 'text?',
  name: 'text',
  kind: 'text',
  epoch: 'integer',
  state: typed<'queued' | 'held' | 'silent' | 'ended'>('work_state'),
  report_sequence: 'integer',
  command: typed<WorkCommand | null>('work_command'),
  command_by: 'text?',
} satisfies ColumnTypes;
export type HeldRow = RowOf<typeof heldRow>;

// Locked in the order of ids, so that two batches cannot deadlock.
const lockWork = statement(
  {
    parameters: { account_id: 'uuid', agent_id: 'uuid', work_ids: 'uuid[]' },
    row: heldRow,
  },
  `
  select work_id, project_id, environment_name, kind, name, epoch, state, report_sequence, command, command_by from work
  where account_id = $account_id and agent_id = $agent_id and work_id = any ($work_ids::uuid[])
  order by work_id
  for update`,
);

const selectHeld = statement(
  {
    parameters: { account_id: 'uuid', agent_id: 'uuid', work_ids: 'uuid[]' },
    row: heldRow,
  },
  `
  select work_id, project_id, environment_name, kind, name, epoch, state, report_sequence, command, command_by from work
  where account_id = $account_id and agent_id = $agent_id and work_id = any ($work_ids::uuid[])`,
);

/** Reads the current state of the work that an agent reports on. */
export function readHeldWork(
  read: Read,
  accountId: string,
  agentId: string,
  workIds: readonly string[],
): Promise<HeldRow[]> {
  return read(selectHeld, { account_id: accountId, agent_id: agentId, work_ids: workIds });
}

const lockAsRead = statement(
  { parameters: { account_id: 'uuid', work_ids: 'uuid[]', states: 'text[]' } },
  `
  select case when count(*) filter (where is_so = was_so) < cardinality($work_ids::uuid[]) then refuse('${conflictCode}') end
  from (
    select concat_ws(' ', epoch, state, report_sequence, command) as is_so,
      ($states::text[])[array_position($work_ids::uuid[], work_id)] as was_so
    from work where account_id = $account_id and work_id = any ($work_ids::uuid[])
    order by work_id
    for update
  ) held`,
);

/** Locks work that was read before, and fails the transaction if it has changed since: see isChangedWork. */
export function lockUnchanged(tx: Transaction, accountId: string, rows: readonly HeldRow[]): void {
  const states = rows.map((row) =>
    [row.epoch, row.state, row.report_sequence, row.command ?? []].flat().join(' '),
  );
  tx.send(lockAsRead, { account_id: accountId, work_ids: rows.map((row) => row.work_id), states });
}

export function isChangedWork(failure: unknown): boolean {
  return isDatabaseError(failure) && failure.code === conflictCode;
}

/** Locks the work that an agent reports on, and returns its current state. */
export function lockHeldWork(
  tx: Transaction,
  accountId: string,
  agentId: string,
  workIds: readonly string[],
): Promise<HeldRow[]> {
  return tx.query(lockWork, { account_id: accountId, agent_id: agentId, work_ids: workIds });
}

const updateLeases = statement(
  { parameters: { account_id: 'uuid', work_ids: 'uuid[]', lease_expires_at: 'timestamptz' } },
  `
  update work set state = 'held', silent_since = null, lease_expires_at = $lease_expires_at::timestamptz,
    due_at = least(due_at, $lease_expires_at::timestamptz)
  where account_id = $account_id and work_id = any ($work_ids::uuid[])`,
);

export function extendLeases(
  tx: Transaction,
  accountId: string,
  workIds: readonly string[],
  now: Date,
  times: WorkTimes,
): void {
  if (workIds.length > 0)
    tx.send(updateLeases, {
      account_id: accountId,
      work_ids: workIds,
      lease_expires_at: addSeconds(now, times.leaseSeconds),
    });
}

// By array, as in declareClaim.
const applyReported = statement(
  {
    parameters: {
      account_id: 'uuid',
      work_ids: 'uuid[]',
      report_sequences: 'integer[]',
      ended_ids: 'uuid[]',
      lease_expires_at: 'timestamptz',
      now: 'timestamptz',
    },
  },
  `
  update work set report_sequence = ($report_sequences::integer[])[array_position($work_ids::uuid[], work_id)],
    silent_since = null, lease_expires_at = $lease_expires_at::timestamptz,
    state = case when work_id = any ($ended_ids::uuid[]) then 'ended' else 'held' end::work_state,
    ended_at = case when work_id = any ($ended_ids::uuid[]) then $now::timestamptz end,
    command = case when work_id = any ($ended_ids::uuid[]) then null else command end,
    due_at = case when work_id = any ($ended_ids::uuid[]) then null else least(due_at, $lease_expires_at::timestamptz) end
  where account_id = $account_id and work_id = any ($work_ids::uuid[])`,
);

/**
 * Records reports for held work: `sequences` has the last report number of each, `ended` those that finished.
 * The leases of the others are extended.
 */
export function recordReported(
  tx: Transaction,
  accountId: string,
  reported: { sequences: ReadonlyMap<string, number>; ended: ReadonlySet<string> },
  now: Date,
  times: WorkTimes,
): void {
  const ids = [...reported.sequences.keys()];
  const lease = addSeconds(now, times.leaseSeconds);
  tx.send(applyReported, {
    account_id: accountId,
    work_ids: ids,
    report_sequences: [...reported.sequences.values()],
    ended_ids: [...reported.ended],
    lease_expires_at: lease,
    now,
  });
}
