/**
 * Reads that check the caller's rights and fetch rows in one trip (docs/adr/0004).
 *
 * A body may use the parameters that it declares, and `$account_id`, `$principal_id`, `$project_id` and
 * `$now` of the guard.
 */
import { passingStatement, type Statement, statement, typed } from '../database/database.ts';
import type { ColumnTypes, ParametersOf, ParameterTypes, RowOf, Typed } from '../database/trips/sql-types.ts';
import { listParameters } from '../database/trips/statement.ts';
import type { Standing } from './permissions.ts';

/** The parameters of rights(). */
export const guardTypes = {
  account_id: 'uuid',
  /** A credential or a user. */
  principal_id: 'uuid',
  /** The personal credential or the session of a user's request, or null. */
  user_credential_id: 'uuid?',
  /** Principals that must have the rights too, or null. */
  other_principal_ids: 'uuid[]?',
  /** From the path, or null. */
  project_id: 'uuid?',
  /** From the request, or null. A body must not use it: the environment of its rows may be another one. */
  environment_of_rights: 'text?',
  /** The roles that have the permission, as array literals (permissions.ts). */
  account_roles: typed<string>('text[]'),
  project_roles: typed<string>('text[]'),
  environment_roles: typed<string>('text[]'),
  now: 'timestamptz',
} satisfies ParameterTypes;

export type GuardParameters = ParametersOf<typeof guardTypes>;

/**
 * SQL: the caller's rights. `environment` is an expression for the environment of the resource, for
 * operations that declare `environmentFrom: 'resource'`.
 */
const sqlRights = (environment?: string) => {
  const checked =
    environment === undefined
      ? '$environment_of_rights::text'
      : `coalesce($environment_of_rights::text, (${environment}))`;
  return `rights($account_id::uuid, $principal_id::uuid, $project_id::uuid, ${checked},
    $account_roles::text[], $project_roles::text[], $environment_roles::text[], $now::timestamptz, $user_credential_id::uuid,
    $other_principal_ids::uuid[])`;
};

/** SQL condition: the row, of a view of roles or of `directory_member`, has not ended. */
export const inEffect = (row: string) => `(${row}.expires_at is null or ${row}.expires_at > $now)`;

/** SQL condition: the caller may see all projects of the account. */
export const callerSeesAll = `exists (
  select from account_role caller
  where caller.account_id = $account_id and caller.principal_id = $principal_id and caller.role = 'SUPER_ADMIN'
    and ${inEffect('caller')})`;

type Guarded<Row> = Row & { standing: Standing; found: true | null };

/** Only a ReadCall runs it and adds the parameters of the guard (kernel/endpoint/read-call.ts). */
export interface GuardedRead<Row, Parameters> {
  readonly guarded: Statement<Guarded<Row>, Parameters & GuardParameters>;
}

interface GuardedDeclaration<Parameters, Columns> {
  /** Its own parameters. */
  parameters?: Parameters;
  row: Columns;
  alone?: boolean;
  environment?: string;
}
type Nothing = Record<never, never>;

/** Declares a guarded read. A lateral join from one row keeps the order of the body. */
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
 * A page with its exact total. The rows are a separate statement: repeating rights and total in each row
 * would cost PostgreSQL and the server half as much again. Check the standing before using the rows.
 */
export interface GuardedPage<Row, Total, Parameters> {
  readonly head: Statement<{ standing: Standing; total: Total }, Parameters & GuardParameters>;
  readonly rows: Statement<Row, Parameters & GuardParameters>;
}

type TotalType = 'bigint' | 'bigint?' | Typed<unknown>;

interface PageDeclaration<Parameters, Columns, Total> extends GuardedDeclaration<Parameters, Columns> {
  /** Default: 'bigint'. */
  totalType?: Total;
  /** The text is made for one request (passingStatement). */
  passing?: boolean;
}

/**
 * Declares a guarded page. `total` is a statement with one row of one column. Each parameter is used by one
 * of the two statements, or both.
 */
export function guardedPage<
  const Columns extends ColumnTypes,
  const Parameters extends ParameterTypes = Nothing,
  const Total extends TotalType = 'bigint',
>(
  declared: PageDeclaration<Parameters, Columns, Total>,
  { rows, total }: { rows: string; total: string },
): GuardedPage<RowOf<Columns>, RowOf<{ total: Total }>['total'], ParametersOf<Parameters>> {
  const { parameters, row, alone = false, environment, totalType = 'bigint', passing = false } = declared;
  const declare = passing ? passingStatement : statement;
  const head = `
    select standing, case when standing = 'permitted' then (${total}) end as total from ${sqlRights(environment)}`;
  const types = addGuardTypes(parameters);
  const unused = Object.keys(parameters ?? {}).find((name) => !listParameters(head + rows).includes(name));
  if (unused !== undefined) throw new Error(`The declared parameter $${unused} is not used: ${rows}`);
  const pickTypes = (text: string) =>
    Object.fromEntries(Object.entries(types).filter(([name]) => listParameters(text).includes(name)));
  const columns: ColumnTypes = { standing: typed<Standing>('text'), total: totalType };
  const page = {
    head: declare({ parameters: pickTypes(head), row: columns, alone }, head),
    rows: declare({ parameters: pickTypes(rows), row, alone }, rows),
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
