/**
 * Retention: deletes old rows in small batches.
 *
 * Terminology
 *   rule    which rows are kept for how long, and how to delete them
 *   batch   the rows that one transaction deletes: at most `batchRows`, found by the primary key of their table
 *   pass    one run of all rules over all accounts, with a rest after each batch; one server at a time
 *   cursor  the column after the account in that key: a pass never scans the deleted range again
 */
import { type Database, type Statement, statement } from '../database/database.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';

export const batchRows = 500;
/** The next pass handles the others. */
const mostAccounts = 1_000;
const dayMilliseconds = 86_400_000;
/**
 * Each rest lasts this many times as long as its batch, so that a backlog takes a fifth of one connection's
 * time.
 */
const restFactor = 4;
const shortestRestMilliseconds = 50;

/** Finds and deletes the old rows of one table. */
interface OldRows {
  /** Selects the accounts that have rows older than `before`. */
  due: Statement<{ account_id: string }, { before: Date }>;
  /** `cursor`: from the previous batch. */
  remove: Statement<
    { removed: number; cursor: string | null },
    { account_id: string; before: Date; cursor: string | null }
  >;
}

export interface RetentionRule extends OldRows {
  /** The kind of rows, for the log and the metrics. */
  kind: string;
  /** Undefined: kept forever. */
  days: number | undefined;
}

/**
 * @param about.old SQL: which rows of the table `r` are older than the given time expression @param about.key
 * the columns of the primary key after the account. The first is the cursor, of type `cursorType` @param
 * about.noting a change in the same transaction: SQL over `gone`, which has the columns `returning`
 */
export function oldRows(about: {
  table: string;
  key: readonly [cursor: string, ...rest: string[]];
  cursorType: 'timestamptz' | 'uuid';
  old: (time: string) => string;
  noting?: { returning: string; change: string };
}): OldRows {
  const { table, key, cursorType, old, noting } = about;
  const [cursor] = key;
  const least = cursorType === 'uuid' ? '00000000-0000-0000-0000-000000000000' : '-infinity';
  const order = key.map((column) => `r.${column}`).join(', ');
  return {
    // One index lookup per account: the limit keeps the planner from scanning the table.
    due: statement(
      { parameters: { before: 'timestamptz' }, row: { account_id: 'uuid' }, alone: true },
      `
      select a.account_id from account a cross join lateral (
        select true from ${table} r where r.account_id = a.account_id
          and ${old('$before::timestamptz')} order by ${order} limit 1) as found (yes)
      order by a.account_id limit ${mostAccounts}`,
    ),
    // By ctid array: with a join the planner might scan the whole table, if it planned for a small one.
    remove: statement(
      {
        parameters: { account_id: 'uuid', before: 'timestamptz', cursor: 'text?' },
        row: { removed: 'integer', cursor: 'text?' },
        alone: true,
      },
      `
      with gone as (
        delete from ${table} where ctid = any (array(
          select r.ctid from ${table} r
          where r.account_id = $account_id and ${old('$before::timestamptz')}
            and r.${cursor} >= coalesce($cursor::text, '${least}')::${cursorType}
          order by ${order} limit ${batchRows}))
        returning ${cursor} as cursor${noting === undefined ? '' : `, ${noting.returning}`}
      )${noting === undefined ? '' : `, noted as (${noting.change})`}
      select count(*)::integer as removed, (array_agg(cursor order by cursor desc))[1]::text as cursor from gone`,
    ),
  };
}

/** SQL: the smallest UUID of version 7 for a time expression. */
export function firstIdAt(time: string): string {
  return `rpad(lpad(to_hex(floor(extract(epoch from ${time}) * 1000)::bigint), 12, '0'), 32, '0')::uuid`;
}

export interface RetentionServices {
  database: Database;
  metrics: Metrics;
  log: Log;
  stopping: AbortSignal;
}

export type Rest = (milliseconds: number) => Promise<void>;

const holdPass = statement(
  { parameters: { name: 'text' }, row: { held: 'boolean' } },
  "select pg_try_advisory_lock(hashtextextended('headgate ' || $name::text, 0)) as held",
);
const stillHere = statement({}, 'select 1');

/**
 * Runs `pass` if no other server runs one of the same name, and returns undefined otherwise. `pass` must rest
 * by the function that it gets, which also checks the lock.
 */
export function runExclusively<Result>(
  database: Database,
  name: string,
  rest: Rest,
  pass: (rest: Rest) => Promise<Result>,
): Promise<Result | undefined> {
  // A separate connection holds the lock, without a snapshot. The batches use the pool, which may have one
  // connection only.
  return database.alone(async (query) => {
    const [lock] = await query(holdPass, { name });
    if (lock?.held !== true) return undefined;
    // If the connection is lost, so is the lock, and this pass must end: another server may have started one.
    return pass(async (milliseconds) => {
      await rest(milliseconds);
      await query(stillHere, {});
    });
  });
}

/** How long to rest after a batch of this duration. */
export function computeRest(milliseconds: number): number {
  return Math.max(shortestRestMilliseconds, milliseconds * restFactor);
}

/** Runs one pass of all rules. Returns how many rows it deleted: 0 if another server runs a pass. */
export async function applyRetention(
  services: RetentionServices,
  rules: readonly RetentionRule[],
  now: Date,
  rest: Rest,
): Promise<number> {
  const removed = await runExclusively(services.database, 'retention', rest, async (between) => {
    let total = 0;
    for (const rule of rules) total += await applyRule(services, rule, now, between);
    return total;
  });
  return removed ?? 0;
}

async function applyRule(
  services: RetentionServices,
  rule: RetentionRule,
  now: Date,
  rest: Rest,
): Promise<number> {
  if (rule.days === undefined) return 0;
  const { database, log, stopping } = services;
  const before = new Date(now.getTime() - rule.days * dayMilliseconds);
  let total = 0;
  for (const { account_id: accountId } of await database.read(rule.due, { before })) {
    if (stopping.aborted) break;
    total += await removeOld(services, rule, { accountId, before }, rest);
  }
  if (total > 0)
    log.info(
      { kind: rule.kind, rows: total, before },
      `retention removed ${total} ${rule.kind} rows older than ${rule.days} days`,
    );
  return total;
}

async function removeOld(
  { database, metrics, stopping }: RetentionServices,
  rule: RetentionRule,
  { accountId, before }: { accountId: string; before: Date },
  rest: Rest,
): Promise<number> {
  let total = 0;
  let cursor: string | null = null;
  while (!stopping.aborted) {
    const began = performance.now();
    const [row]: { removed: number; cursor: string | null }[] = await database.read(rule.remove, {
      account_id: accountId,
      before,
      cursor,
    });
    const removed = row?.removed ?? 0;
    total += removed;
    metrics.countRemovedRows(rule.kind, removed);
    await rest(computeRest(performance.now() - began));
    if (row === undefined || removed < batchRows) break;
    cursor = row.cursor;
  }
  return total;
}
