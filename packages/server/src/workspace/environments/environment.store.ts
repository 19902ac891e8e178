/** The table `environment`. */
import { createHash } from 'node:crypto';
import type { Environment, Permission } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { forbidden } from '../../kernel/security/guard.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import { requiredRoles, type Scope } from '../../kernel/security/permissions.ts';

export interface EnvironmentRow {
  name: string;
  display_name: string | null;
  description: string | null;
  default_agent_id: string | null;
  default_agent_name: string | null;
  version: number;
  created_at: Date;
}

const columns =
  'e.name, e.display_name, e.description, e.default_agent_id, a.name as default_agent_name, e.version, e.created_at';
const joined = `environment e left join agent a on a.account_id = e.account_id and a.agent_id = e.default_agent_id`;

/** Parameters: limit, offset. */
export const environmentPage = guardedPage<EnvironmentRow>({
  rows: `select ${columns} from ${joined} where e.account_id = $1 and e.project_id = $3 order by e.name limit $9 offset $10`,
  total: 'select count(*)::bigint as total from environment where account_id = $1 and project_id = $3',
});

/** Parameters: name. */
export const environmentByName = guardedRead<EnvironmentRow>(
  `select ${columns} from ${joined} where e.account_id = $1 and e.project_id = $3 and e.name = $9`,
);

const insertOne = statement(`
  insert into environment (account_id, project_id, name, display_name, description, default_agent_id,
    default_user_access_level, version, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`);

export function insertEnvironment(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  row: EnvironmentRow & { default_user_access_level: string },
): void {
  tx.onConstraint('environment_key', () => problem('environment-name-taken', { name: row.name }));
  tx.onConstraint('environment_default_agent', () =>
    problem('unknown-agent', { id: row.default_agent_id ?? '' }),
  );
  tx.send(insertOne, [scope.accountId, projectId, row.name, ...settingsOf(row), row.created_at]);
}

/** What may change of an environment, in the order of the columns. */
function settingsOf(row: EnvironmentRow & { default_user_access_level: string }) {
  return [
    row.display_name,
    row.description,
    row.default_agent_id,
    row.default_user_access_level,
    row.version,
  ] as const;
}

const selectOne = statement<EnvironmentRow>(`
  select ${columns} from ${joined} where e.account_id = $1 and e.project_id = $2 and e.name = $3`);

/** Throws `environment-not-found`. */
export async function requireEnvironment(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
): Promise<EnvironmentRow> {
  const [row] = await tx.query(selectOne, [scope.accountId, projectId, name]);
  if (row === undefined) throw problem('environment-not-found', { name });
  return row;
}

const lockOne = statement<EnvironmentRow & { default_user_access_level: string }>(`
  select ${columns}, e.default_user_access_level from ${joined}
  where e.account_id = $1 and e.project_id = $2 and e.name = $3 for update of e`);

/** Throws `environment-not-found`. */
export async function lockEnvironment(tx: Transaction, scope: Scope, projectId: string, name: string) {
  const [row] = await tx.query(lockOne, [scope.accountId, projectId, name]);
  if (row === undefined) throw problem('environment-not-found', { name });
  return row;
}

const updateOne = statement(`
  update environment set display_name = $4, description = $5, default_agent_id = $6, default_user_access_level = $7, version = $8
  where account_id = $1 and project_id = $2 and name = $3`);

export function updateEnvironmentRow(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  row: EnvironmentRow & { default_user_access_level: string },
): void {
  tx.send(updateOne, [scope.accountId, projectId, row.name, ...settingsOf(row)]);
}

const deleteOne = statement(
  'delete from environment where account_id = $1 and project_id = $2 and name = $3',
  { alone: true },
);

export function deleteEnvironmentRow(tx: Transaction, scope: Scope, projectId: string, name: string): void {
  tx.send(deleteOne, [scope.accountId, projectId, name]);
}

export interface EnvironmentsWhere {
  all: ReadonlySet<string>;
  permitted: ReadonlySet<string>;
}

const selectWhere = statement<{ name: string; permitted: boolean }>(`
  select e.name, r.standing = 'permitted' as permitted
  from environment e, lateral rights($1::uuid, $2::uuid, $3::uuid, e.name, $4::text[], $5::text[], $6::text[], $7::timestamptz) r
  where e.account_id = $1 and e.project_id = $3`);

/**
 * The environments of a project, and those in which the caller has a permission: for operations that name
 * several, or none.
 */
export async function environmentsWhere(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  permission: Permission,
  now: Date,
): Promise<EnvironmentsWhere> {
  const roles = requiredRoles(permission);
  const parameters = [
    scope.accountId,
    scope.actorId,
    projectId,
    roles.account,
    roles.project,
    roles.environment,
    now,
  ];
  const rows = await tx.query(selectWhere, parameters);
  return {
    all: new Set(rows.map((row) => row.name)),
    permitted: new Set(rows.filter((row) => row.permitted).map((row) => row.name)),
  };
}

/** Throws `forbidden` unless the caller has the permission in this one environment. */
export async function requireIn(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  environmentName: string,
  permission: Permission,
  now: Date,
): Promise<void> {
  const { permitted } = await environmentsWhere(tx, scope, projectId, permission, now);
  if (!permitted.has(environmentName))
    throw await forbidden(tx.query, scope, permission, { projectId, environmentName });
}

export function presentEnvironment(row: EnvironmentRow): Environment {
  const environment: Environment = { name: row.name };
  if (row.display_name !== null) environment.displayName = row.display_name;
  if (row.description !== null) environment.description = row.description;
  if (row.default_agent_id !== null) environment.defaultAgentId = row.default_agent_id;
  if (row.default_agent_name !== null) environment.defaultAgentName = row.default_agent_name;
  return environment;
}

/**
 * Of the representation, for the default agent's name may change without the environment, and of its making,
 * for a name may be used again.
 */
export function environmentTag(row: EnvironmentRow): string {
  const state = JSON.stringify([presentEnvironment(row), row.version, row.created_at]);
  return `"${createHash('sha256').update(state).digest('base64url').slice(0, 16)}"`;
}
