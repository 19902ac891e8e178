/**
 * Reads that check the caller's rights and fetch what was asked in one trip (docs/adr/0004).
 *
 * A body names its own parameters, and of the guard `$account_id`, `$credential_id`, `$project_id` and `$now`.
 */
import { type Statement, statement, typed } from '../database/database.ts';
import type { ColumnTypes, ParametersOf, ParameterTypes, RowOf, Typed } from '../database/sql-types.ts';
import { listParameters } from '../database/statement.ts';
import type { Standing } from './permissions.ts';

/** The parameters of rights(). */
export const guardTypes = {
  account_id: 'uuid',
  credential_id: 'uuid',
  /** Of the path, or null. */
  project_id: 'uuid?',
  /** Of the request, or null: not for a body, whose environment may be another one. */
  environment_of_rights: 'text?',
  /** Those that give the permission, as the text of an array (permissions.ts). */
  account_roles: typed<string>('text[]'),
  project_roles: typed<string>('text[]'),
  environment_roles: typed<string>('text[]'),
  now: 'timestamptz',
} satisfies ParameterTypes;

export type GuardParameters = ParametersOf<typeof guardTypes>;

/**
 * SQL: the caller's rights. `environment`: an expression for the environment of the resource that is read, for operations that take
 * theirs from it.
 */
const sqlRights = (environment?: string) => {
  const checked =
    environment === undefined
      ? '$environment_of_rights::text'
      : `coalesce($environment_of_rights::text, (${environment}))`;
  return `rights($account_id::uuid, $credential_id::uuid, $project_id::uuid, ${checked},
    $account_roles::text[], $project_roles::text[], $environment_roles::text[], $now::timestamptz)`;
};

/** A condition of a body: the caller may see all projects of the account. */
export const callerSeesAll = `exists (
  select from credential caller
  where caller.account_id = $account_id and caller.credential_id = $credential_id and caller.account_role = 'SUPER_ADMIN')`;

type Guarded<Row> = Row & { standing: Standing; found: true | null };

/** Only a ReadCall opens it, which adds the parameters of the guard (kernel/endpoint/read-call.ts). */
export interface GuardedRead<Row, Parameters> {
  readonly guarded: Statement<Guarded<Row>, Parameters & GuardParameters>;
}

interface GuardedDeclaration<Parameters, Columns> {
  /** Its own ones. */
  parameters?: Parameters;
  row: Columns;
  alone?: boolean;
  environment?: string;
}
type Nothing = Record<never, never>;

/** Rows in the body's order: a lateral join from one row keeps it. */
export function guardedRead<
  const Columns extends ColumnTypes,
  const Parameters extends ParameterTypes = Nothing,
>(
  { parameters, row, alone = false, environment }: GuardedDeclaration<Parameters, Columns>,
  body: string,
): GuardedRead<RowOf<Columns>, ParametersOf<Parameters>> {
  const columns = { standing: typed<Standing>('text'), found: typed<true | null>('boolean'), ...row };
  const text = `
    select guard.standing, body.*
    from ${sqlRights(environment)} guard
    left join lateral (select true as found, chosen.* from (${body}) chosen) body on guard.standing = 'permitted'`;
  const declared = statement({ parameters: addGuardTypes(parameters), row: columns, alone }, text);
  return { guarded: declared as unknown as GuardedRead<RowOf<Columns>, ParametersOf<Parameters>>['guarded'] };
}

/**
 * A page with its exact total. Its rows come by a statement of their own: joined with rights and total, each
 * row would carry both, and the whole would cost PostgreSQL and the server half as much again. Who reads them
 * looks at the standing first.
 */
export interface GuardedPage<Row, Total, Parameters> {
  readonly head: Statement<{ standing: Standing; total: Total }, Parameters & GuardParameters>;
  readonly rows: Statement<Row, Parameters & GuardParameters>;
}

type TotalType = 'bigint' | 'bigint?' | Typed<unknown>;

interface PageDeclaration<Parameters, Columns, Total> extends GuardedDeclaration<Parameters, Columns> {
  /** 'bigint' unless given. */
  totalType?: Total;
}

/** `total` is a statement with one row of one column. Each parameter is in one of the two, or in both. */
export function guardedPage<
  const Columns extends ColumnTypes,
  const Parameters extends ParameterTypes = Nothing,
  const Total extends TotalType = 'bigint',
>(
  declared: PageDeclaration<Parameters, Columns, Total>,
  { rows, total }: { rows: string; total: string },
): GuardedPage<RowOf<Columns>, RowOf<{ total: Total }>['total'], ParametersOf<Parameters>> {
  const { parameters, row, alone = false, environment, totalType = 'bigint' } = declared;
  const head = `
    select standing, case when standing = 'permitted' then (${total}) end as total from ${sqlRights(environment)}`;
  const types = addGuardTypes(parameters);
  const unused = Object.keys(parameters ?? {}).find((name) => !listParameters(head + rows).includes(name));
  if (unused !== undefined) throw new Error(`The declared parameter $${unused} is not used: ${rows}`);
  const pickTypes = (text: string) =>
    Object.fromEntries(Object.entries(types).filter(([name]) => listParameters(text).includes(name)));
  const columns: ColumnTypes = { standing: typed<Standing>('text'), total: totalType };
  const page = {
    head: statement({ parameters: pickTypes(head), row: columns, alone }, head),
    rows: statement({ parameters: pickTypes(rows), row, alone }, rows),
  };
  return page as unknown as GuardedPage<
    RowOf<Columns>,
    RowOf<{ total: Total }>['total'],
    ParametersOf<Parameters>
  >;
}

function addGuardTypes(own: ParameterTypes = {}): ParameterTypes {
  const taken = Object.keys(own).find((name) => name in guardTypes);
  if (taken !== undefined)
    throw new Error(`The parameter $${taken} is reserved for the permission check; use another name.`);
  return { ...guardTypes, ...own };
}
