/**
 * Work that servers hold: the table `server_work` (docs/adr/0087). Work of agents is in work.ts.
 *
 * Terminology
 *   subject  the row that the work is about: a mail, a delivery rule. Its id is that of the work, and its deletion
 *            deletes the work
 *   lease    the server holds the work until `lease_until`, and may extend that. Then another server may take it
 *   epoch    counts the leases. Only the holder of the latest one may write a result
 *   wake     makes work due. If it comes while the work is held, the work is due again after the lease
 *
 * A transaction locks the subject first, then the work; claims lock only the work. Otherwise two of them can wait for
 * each other.
 */
import { addSeconds } from '../clock.ts';
import {
  type ColumnTypes,
  type Database,
  insertStatement,
  type Read,
  type RowOf,
  statement,
  type Transaction,
} from '../database/database.ts';

const keyTypes = { account_id: 'uuid', work_id: 'uuid', epoch: 'bigint' } as const;
export const heldRow = {
  ...keyTypes,
  /** Claims since the last success, with this one. */
  attempts: 'integer',
  /** Leases in a row that ran out. */
  interruptions: 'integer',
} satisfies ColumnTypes;
/** Work that this server holds until the end of the lease. */
export type HeldWork = RowOf<typeof heldRow>;
export type HeldKey = Pick<HeldWork, keyof typeof keyTypes>;

/** Another server has the work, or its subject was deleted: nothing more may be written for it. */
export class LeaseLost extends Error {
  override name = 'LeaseLost';
}

/** SQL: whether the work of the row `subject` is held by $epoch. It locks nothing: for reads. */
export const isHeldWork = (subject: string, id = 'work_id') => `exists (
    select from server_work s
    where s.account_id = ${subject}.account_id and s.work_id = ${subject}.${id} and s.epoch = $epoch)`;

export const insertWork = insertStatement('server_work', {
  account_id: 'uuid',
  work_id: 'uuid',
  kind: 'text',
  due_at: 'timestamptz?',
});

const hold = statement(
  {
    parameters: {
      account_id: 'uuid',
      work_id: 'uuid',
      kind: 'text',
      lease_until: 'timestamptz',
      now: 'timestamptz',
    },
    row: heldRow,
  },
  `
  insert into server_work as w (account_id, work_id, kind, lease_until, epoch, attempts, touched_at)
  values ($account_id, $work_id, $kind, $lease_until, 1, 1, $now)
  on conflict on constraint server_work_key do update set epoch = w.epoch + 1, lease_until = excluded.lease_until,
    touched_at = excluded.touched_at
  where w.lease_until <= $now
  returning w.account_id, w.work_id, w.epoch, w.attempts, w.interruptions`,
);

/**
 * Holds work that a request does itself and ends by `removeWork`: no worker takes it over, but others can hold it when
 * the lease has ended. Give it to `leases` after the commit. @returns undefined if it is held
 */
export async function holdWork(
  tx: Transaction,
  work: { account_id: string; work_id: string; kind: string },
  { now, seconds }: { now: Date; seconds: number },
): Promise<HeldWork | undefined> {
  const { account_id, work_id, kind } = work;
  const lease_until = addSeconds(now, seconds);
  return (await tx.query(hold, { account_id, work_id, kind, lease_until, now }))[0];
}

const isHeld = 'account_id = $account_id and work_id = $work_id and epoch = $epoch';
const pickKey = ({ account_id, work_id, epoch }: HeldKey): HeldKey => ({ account_id, work_id, epoch });

const lock = statement(
  { parameters: keyTypes, row: { is_woken: 'boolean' } },
  `select due_at is not null as is_woken from server_work where ${isHeld} for no key update`,
);

/**
 * Keeps the lease until the end of the transaction. Returns whether something has come since the claim.
 * @throws LeaseLost
 */
export async function requireHeld(tx: Transaction, held: HeldKey): Promise<{ is_woken: boolean }> {
  const [row] = await tx.query(lock, pickKey(held));
  if (row === undefined) throw new LeaseLost();
  return row;
}

/** Runs a transaction of the holder; nothing is written if the lease is lost. @throws LeaseLost */
export function writeAsHolder<Result>(
  { transaction }: Pick<Database, 'transaction'>,
  held: HeldKey,
  write: (tx: Transaction) => Result | Promise<Result>,
): Promise<Result> {
  return transaction(async (tx) => {
    const result = await write(tx);
    await requireHeld(tx, held);
    return result;
  });
}

/**
 * How a lease ends. `done`: attempts and interruptions count from zero again. `ended`: so too, and what has woken the
 * work counts no more; the transaction has locked the subject and knows all of it. `failed`: the attempt counts.
 * `unfinished`: it does not, because the work is not the reason.
 */
export type LeaseEnd = 'done' | 'ended' | 'failed' | 'unfinished';

const release = statement(
  {
    parameters: { ...keyTypes, outcome: 'text', due_at: 'timestamptz?', now: 'timestamptz' },
    row: { due_at: 'timestamptz?' },
  },
  `
  update server_work set lease_until = null, interruptions = 0, touched_at = $now,
    due_at = case $outcome when 'ended' then $due_at else coalesce(due_at, $due_at) end,
    attempts = case $outcome when 'failed' then attempts when 'unfinished' then greatest(0, attempts - 1) else 0 end
  where ${isHeld} and lease_until is not null returning due_at`,
);

/**
 * Ends the lease, after the statements that write the result. A wake that came meanwhile counts more than `dueAt`.
 * @returns whether the work is due already
 * @throws LeaseLost; then the transaction must write nothing
 */
export async function releaseWork(
  query: Read,
  held: HeldKey,
  end: { outcome: LeaseEnd; dueAt: Date | null; now: Date },
): Promise<boolean> {
  const { outcome, dueAt, now } = end;
  const [row] = await query(release, { ...pickKey(held), outcome, due_at: dueAt, now });
  if (row === undefined) throw new LeaseLost();
  return row.due_at !== null && row.due_at <= now;
}

const recordSuccessSql = statement(
  { parameters: { ...keyTypes, interruptions: 'integer' } },
  `update server_work set attempts = 1, interruptions = $interruptions where ${isHeld}`,
);

/** After a part of the work that succeeded: what failed before was not in a row. The lease goes on. */
export async function recordSuccess(read: Read, held: HeldKey, interruptions = 0): Promise<void> {
  await read(recordSuccessSql, { ...pickKey(held), interruptions });
}

const remove = statement(
  { parameters: keyTypes, row: { work_id: 'uuid' } },
  `delete from server_work where ${isHeld} returning work_id`,
);

/** Ends the lease and the work, for a subject that never has work again. @throws LeaseLost */
export async function removeWork(tx: Transaction, held: HeldKey): Promise<void> {
  const rows = await tx.query(remove, pickKey(held));
  if (rows.length === 0) throw new LeaseLost();
}

const extend = statement(
  {
    parameters: {
      account_ids: 'uuid[]',
      work_ids: 'uuid[]',
      epochs: 'bigint[]',
      leases: 'timestamptz[]',
      now: 'timestamptz',
    },
    row: { work_id: 'uuid', epoch: 'bigint' },
    alone: true,
  },
  `
  update server_work w set lease_until = held.lease_until, touched_at = $now
  from unnest($account_ids::uuid[], $work_ids::uuid[], $epochs::bigint[], $leases::timestamptz[])
    as held (account_id, work_id, epoch, lease_until)
  where w.account_id = held.account_id and w.work_id = held.work_id and w.epoch = held.epoch and w.lease_until is not null
  returning w.work_id, w.epoch`,
);

/** Extends leases, and returns those that this server still has. */
export function extendLeases(
  read: Read,
  held: readonly (HeldKey & { leaseUntil: Date })[],
  now: Date,
): Promise<Pick<HeldKey, 'work_id' | 'epoch'>[]> {
  return read(extend, {
    account_ids: held.map((each) => each.account_id),
    work_ids: held.map((each) => each.work_id),
    epochs: held.map((each) => each.epoch),
    leases: held.map((each) => each.leaseUntil),
    now,
  });
}

/** Clocks of servers may differ by this. */
const clockDifferenceSeconds = 60;
/** A live server extends its lease within this time. */
const graceSeconds = 20;

const hasten = statement(
  { parameters: { now: 'timestamptz', latest: 'timestamptz', grace: 'timestamptz' }, alone: true },
  `
  update server_work set due_at = case when due_at > $now then $now else due_at end,
    lease_until = case when lease_until > $grace then $grace else lease_until end, touched_at = $now
  where touched_at > $latest and claimable_at is not null`,
);

/** Makes work due that was touched in the future: the clock was moved back. */
export async function hastenAfterClockChange(read: Read, now: Date): Promise<void> {
  await read(hasten, {
    now,
    latest: addSeconds(now, clockDifferenceSeconds),
    grace: addSeconds(now, graceSeconds),
  });
}
