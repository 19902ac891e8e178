/**
 * Reads that check the caller's rights and fetch what was asked in one statement (docs/adr/0004).
 *
 * The body of a guarded statement is joined behind rights(), whose parameters are always the first eight:
 *   $1 account  $2 credential  $3 project or null  $4 environment or null  $5 $6 $7 roles of the permission  $8 now
 * so a body may name $1 and $3, and its own parameters start at $9. The guard is materialized: inlined, its rule would be evaluated
 * for every row of the body.
 */
import { type Statement, statement } from './database.ts';
import type { Standing } from './permissions.ts';

interface Guard {
  standing: Standing;
  found: true | null;
}
export type Guarded<Row> = Guard & Row;
export type GuardedPage<Row, Total = number> = Guarded<Row> & { total: Total };

const guard =
  'rights($1::uuid, $2::uuid, $3::uuid, $4::text, $5::text[], $6::text[], $7::text[], $8::timestamptz) guard';

/** Rows in the body's order: a lateral join from one row keeps it. */
export function guardedRead<Row>(body: string): Statement<Guarded<Row>> {
  return statement<Guarded<Row>>(`
    with guard as materialized (select standing, account_role from ${guard})
    select guard.standing, body.*
    from guard
    left join lateral (select true as found, chosen.* from (${body}) chosen) body on guard.standing = 'permitted'`);
}

/** A page with its exact total, which is there also when the page is empty. */
export function guardedPage<Row, Total = number>(parts: {
  rows: string;
  total: string;
}): Statement<GuardedPage<Row, Total>> {
  return statement<GuardedPage<Row, Total>>(`
    with guard as materialized (select standing, account_role from ${guard})
    select guard.standing, totals.total, body.*
    from guard
    left join lateral (${parts.total}) totals on guard.standing = 'permitted'
    left join lateral (select true as found, chosen.* from (${parts.rows}) chosen) body on guard.standing = 'permitted'`);
}
