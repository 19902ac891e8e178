/**
 * Reads that check the caller's rights and fetch what was asked in one trip (docs/adr/0004).
 *
 * The parameters of rights() are always the first eight:
 *   $1 account  $2 credential  $3 project or null  $4 environment or null  $5 $6 $7 roles of the permission
 *               $8 now
 * so a body may name $1, $2, $3 and $8, and its own parameters start at $9.
 */
import { type Statement, statement } from '../database/database.ts';
import type { Standing } from './permissions.ts';

interface Guard {
  standing: Standing;
  found: true | null;
}
export type Guarded<Row> = Guard & Row;

/**
 * `environment`: an expression for the environment of the resource that is read, for operations that take
 * theirs from it.
 */
const rightsIn = (environment?: string) => {
  const checked = environment === undefined ? '$4::text' : `coalesce($4::text, (${environment}))`;
  return `rights($1::uuid, $2::uuid, $3::uuid, ${checked}, $5::text[], $6::text[], $7::text[], $8::timestamptz)`;
};

/** The types of the first eight, for a body that does not name them all: uuid, text, text[], timestamptz. */
const typesOfRights = [2950, 2950, 2950, 25, 1009, 1009, 1009, 1184];

/** A condition of a body: the caller may see all projects of the account. */
export const callerSeesAll = `exists (
  select from credential caller where caller.account_id = $1 and caller.credential_id = $2 and caller.account_role = 'SUPER_ADMIN')`;

/** Rows in the body's order: a lateral join from one row keeps it. */
export function guardedRead<Row>(
  body: string,
  { alone = false, environment }: { alone?: boolean; environment?: string } = {},
): Statement<Guarded<Row>> {
  const text = `
    select guard.standing, body.*
    from ${rightsIn(environment)} guard
    left join lateral (select true as found, chosen.* from (${body}) chosen) body on guard.standing = 'permitted'`;
  return statement<Guarded<Row>>(text, { alone });
}

/**
 * A page with its exact total. Its rows come by a statement of their own: joined with rights and total, each
 * row would carry both, and the whole would cost PostgreSQL and the server half as much again. Who reads them
 * looks at the standing first.
 */
export interface GuardedPage<Row, Total = number> {
  head: Statement<{ standing: Standing; total: Total }>;
  rows: Statement<Row>;
}

/** `total` is a statement with one row of one column. */
export function guardedPage<Row, Total = number>(parts: {
  rows: string;
  total: string;
  alone?: boolean;
  environment?: string;
}): GuardedPage<Row, Total> {
  const { alone = false } = parts;
  return {
    head: statement(
      `select standing, case when standing = 'permitted' then (${parts.total}) end as total from ${rightsIn(parts.environment)}`,
      { alone },
    ),
    rows: statement(parts.rows, { types: typesOfRights, alone }),
  };
}
