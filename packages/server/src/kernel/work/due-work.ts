/** Finds work of servers that is due, and claims it (server-work.ts). */
import { addSeconds } from '../clock.ts';
import { type Database, type Read, statement } from '../database/database.ts';
import { type HeldWork, heldRow } from './server-work.ts';

// A server that dies interrupts all of its work, and one piece of it may be the cause. Interrupted work is taken one at
// a time: then a second death sets aside only that piece, and the rest succeeds.
const interruptedPlaces = `greatest(0, $most_interrupted::bigint - (
      select count(*) from server_work other
      where other.kind = $kind and other.interruptions > 0 and other.lease_until > $now))`;

const mayTake = `(w.lease_until is null or ${interruptedPlaces} > 0)`;

/** Of one account in a look. Written into the statement: the planner must know that it is small. */
const mostOfAccount = 64;

const listDue = statement(
  {
    parameters: {
      kind: 'text',
      after: 'uuid',
      full_accounts: 'uuid[]',
      held: 'uuid[]',
      limit: 'bigint',
      most_interrupted: 'bigint',
      now: 'timestamptz',
    },
    row: { account_id: 'uuid', work_id: 'uuid', is_interrupted: 'boolean' },
    alone: true,
  },
  // The first part finds one account after the other in the index, so the work of one is not read for the others.
  `
  with recursive waiting (account_id, number) as (
    (select w.account_id, 1 from server_work w
     where w.kind = $kind and w.claimable_at <= $now and w.account_id > $after and ${mayTake} order by w.account_id limit 1)
    union all
    select next.account_id, waiting.number + 1 from waiting cross join lateral (
      select w.account_id from server_work w
      where w.kind = $kind and w.claimable_at <= $now and w.account_id > waiting.account_id and ${mayTake}
      order by w.account_id limit 1) next
    where waiting.number < $limit::bigint + cardinality($full_accounts::uuid[])
  )
  select due.account_id, due.work_id, due.is_interrupted
  from waiting cross join lateral (select account_id, work_id, claimable_at, is_interrupted from (
    select w.account_id, w.work_id, w.claimable_at, w.lease_until is not null as is_interrupted from server_work w
    where w.kind = $kind and w.account_id = waiting.account_id and w.claimable_at <= $now
      and w.work_id <> all ($held::uuid[]) and ${mayTake}
    order by w.claimable_at limit ${mostOfAccount}) each
    limit 1 + $limit::bigint / (select count(*) from waiting)) due
  where waiting.account_id <> all ($full_accounts::uuid[])
  order by waiting.number, due.claimable_at`,
);

export interface DueWork {
  account_id: string;
  work_id: string;
  /** The lease of a server ran out. */
  is_interrupted?: boolean;
}

export interface Look {
  kind: string;
  /** The last account of the look before; the look goes on after it. */
  after: string;
  /** Accounts that get nothing now. */
  fullAccounts: readonly string[];
  /** What this server holds: a clock that is moved forward must not take it from itself. */
  held: readonly string[];
  /** How many accounts are looked at, and about how many works. */
  limit: number;
  /** How many works that were interrupted may be held at once. */
  mostInterrupted: number;
  now: Date;
}

/** Lists due work, account by account, of each about the same number; of an account what has waited longest. */
export function listDueWork(read: Read, look: Look): Promise<DueWork[]> {
  return read(listDue, {
    kind: look.kind,
    after: look.after,
    full_accounts: look.fullAccounts,
    held: look.held,
    limit: look.limit,
    most_interrupted: look.mostInterrupted,
    now: look.now,
  });
}

const claim = statement(
  {
    parameters: {
      kind: 'text',
      account_ids: 'uuid[]',
      work_ids: 'uuid[]',
      lease_until: 'timestamptz',
      most_interrupted: 'bigint',
      is_ready: 'boolean',
      now: 'timestamptz',
    },
    row: heldRow,
    alone: true,
  },
  `
  with wanted as materialized (
    select account_id, work_id from unnest($account_ids::uuid[], $work_ids::uuid[]) as w (account_id, work_id)
  ), waiting as materialized (
    select w.account_id, w.work_id from wanted join server_work w using (account_id, work_id)
    where w.lease_until is null and ($is_ready or w.due_at <= $now) for update of w skip locked
  ), interrupted as materialized (
    select w.account_id, w.work_id from wanted join server_work w using (account_id, work_id)
    where w.lease_until <= $now order by w.lease_until limit ${interruptedPlaces} for update of w skip locked
  ), chosen as (
    select account_id, work_id from waiting union all select account_id, work_id from interrupted
  )
  update server_work w set epoch = w.epoch + 1, lease_until = $lease_until, due_at = null, attempts = w.attempts + 1,
    interruptions = w.interruptions + (w.lease_until is not null)::integer, touched_at = $now
  from chosen where w.account_id = chosen.account_id and w.work_id = chosen.work_id
  returning w.account_id, w.work_id, w.epoch, w.attempts, w.interruptions`,
);

export interface Claiming {
  kind: string;
  leaseSeconds: number;
  mostInterrupted: number;
  /** The slice knows that it can be done now, whenever it is due. */
  isReady?: boolean;
  now: Date;
}

// Servers count what is interrupted and held one after the other. The statement that claims begins under the lock, so
// it sees what the claim before it has written.
const lockInterrupted = statement(
  { parameters: { kind: 'text' }, row: { locked: 'text?' } },
  `select pg_advisory_xact_lock(hashtextextended('interrupted ' || $kind, 0))::text as locked`,
);

/** Claims what is still due and no other server claims. */
export function claimWork(
  { read, transaction }: Pick<Database, 'read' | 'transaction'>,
  due: readonly DueWork[],
  claiming: Claiming,
): Promise<HeldWork[]> {
  const { kind, leaseSeconds, mostInterrupted, isReady = false, now } = claiming;
  const parameters = {
    kind,
    account_ids: due.map((each) => each.account_id),
    work_ids: due.map((each) => each.work_id),
    lease_until: addSeconds(now, leaseSeconds),
    most_interrupted: mostInterrupted,
    is_ready: isReady,
    now,
  };
  if (!due.some(({ is_interrupted }) => is_interrupted === true)) return read(claim, parameters);
  return transaction(async (tx) => {
    await tx.query(lockInterrupted, { kind });
    return tx.query(claim, parameters);
  });
}
