/**
 * Work that took its server down, or blocked it for longer than its lease, must not do so for ever (docs/adr/0076).
 * A claim after a lease that was neither ended nor extended counts one interruption in a row; a row that is given
 * back or ends has none. After the second one the work is set aside.
 *
 * A server that dies interrupts all that it holds. With `selectDueRows`, rows that were interrupted are claimed one at
 * a time: only the one that is worked on at the second death is set aside, and those that are innocent pass.
 */

/** From this count on, the work is not tried again. */
export const mostInterruptions = 2;

/**
 * The rows to claim, as the common table expression `due`: those that wait, and one that was interrupted if no other
 * one is held. `isDue` is what else must be true of them.
 */
export function selectDueRows(about: {
  table: string;
  key: readonly string[];
  isDue: string;
  /** Written into the statement: the planner must know that it is small. */
  most: number;
}): string {
  const { table, isDue, most } = about;
  const key = about.key.join(', ');
  return `
  waiting as materialized (
    select ${key} from ${table} where ${isDue} and lease_until is null
    order by due_at limit ${most} for update skip locked
  ), interrupted as materialized (
    select ${key} from ${table} where ${isDue} and lease_until <= $now and not exists (
      select from ${table} other where other.interruptions > 0 and other.lease_until > $now)
    order by due_at limit 1 for update skip locked
  ), due as (
    select * from interrupted union all select * from waiting limit $limit
  )`;
}

/** What a claim sets of the row `row`. */
export const countInterruption = (row: string) =>
  `interruptions = ${row}.interruptions + (${row}.lease_until is not null)::integer`;

/**
 * A step that blocked the event loop for this long counts as an interruption, too. Shorter gaps can come from a machine
 * that is busy with something else.
 */
export const longestBlockMilliseconds = 5_000;

/** For people: why nothing more happens. */
export const describeInterruption = (what: string) =>
  `${what} was set aside: a server stopped or was blocked while it worked on it, ${mostInterruptions} times in a row. The operator finds what happened in the log of the servers.`;
