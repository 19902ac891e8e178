/** The table `project`. */
import type { Project, ProjectWarehouseName, SqlDialect } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { callerSeesAll, guardedPage, guardedRead, inEffect } from '../../kernel/security/guarded-read.ts';
import { isUserScope, type Scope } from '../../kernel/security/permissions.ts';

const projectRow = {
  project_id: 'uuid',
  name: 'text',
  description: 'text?',
  version: 'bigint',
  warehouse: typed<ProjectWarehouseName>('text'),
  sql_dialect: typed<SqlDialect>('text'),
  ignores_access_statements: 'boolean',
} satisfies ColumnTypes;
const projectColumns = Object.keys(projectRow).join(', ');
export type ProjectRow = RowOf<typeof projectRow>;

const visible = `account_id = $account_id and (${callerSeesAll} or project_id in (
  select g.project_id from granted_role g where g.account_id = $account_id and g.principal_id = $principal_id
    and ${inEffect('g')}))`;

export const projectPage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: projectRow },
  {
    rows: `
    select ${projectColumns} from project where ${visible}
    order by project_id desc limit $limit offset $offset`,
    total: `select count(*)::bigint as total from project where ${visible}`,
  },
);

/** No parameters: the guard gives the project. */
export const projectById = guardedRead(
  { row: projectRow },
  `select ${projectColumns} from project where account_id = $account_id and project_id = $project_id`,
);

const insertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      name: 'text',
      description: 'text?',
      warehouse: 'text',
      sql_dialect: 'text',
      ignores_access_statements: 'boolean',
      agent_deployment_type: 'text',
      version: 'bigint',
      created_at: 'timestamptz',
    },
  },
  `
  insert into project (account_id, project_id, name, description, warehouse, sql_dialect, ignores_access_statements,
    agent_deployment_type, version, created_at)
  values ($account_id, $project_id, $name, $description, $warehouse, $sql_dialect, $ignores_access_statements,
    $agent_deployment_type, $version, $created_at)`,
);
const insertOwner = statement(
  {
    parameters: {
      account_id: 'uuid',
      credential_id: 'uuid?',
      user_id: 'uuid?',
      project_id: 'uuid',
      added_by: 'uuid',
      added_at: 'timestamptz',
    },
  },
  `
  insert into role_grant (account_id, credential_id, user_id, project_id, role, added_by, added_at)
  values ($account_id, $credential_id, $user_id, $project_id, 'OWNER', $added_by, $added_at)`,
);

/** The caller becomes the project's Owner. */
export function insertProject(
  tx: Transaction,
  scope: Scope,
  row: ProjectRow & { agent_deployment_type: string },
  now: Date,
): void {
  tx.onConstraint('project_name_taken', () => problem('project-name-taken', { name: row.name }));
  tx.send(insertOne, {
    account_id: scope.accountId,
    ...row,
    created_at: now,
  });
  const isUser = isUserScope(scope);
  tx.send(insertOwner, {
    account_id: scope.accountId,
    credential_id: isUser ? null : scope.actorId,
    user_id: isUser ? scope.actorId : null,
    project_id: row.project_id,
    added_by: scope.actorId,
    added_at: now,
  });
}

const lockOne = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' }, row: projectRow },
  `
  select ${projectColumns} from project where account_id = $account_id
    and project_id = $project_id for update`,
);

/**
 * Locks a project until the end of the transaction. Other writes to the project wait. Throws
 * `project-not-found`.
 */
export async function lockProject(tx: Transaction, scope: Scope, projectId: string): Promise<ProjectRow> {
  const found = await tx.query(lockOne, { account_id: scope.accountId, project_id: projectId });
  return requireRow(found, () => problem('project-not-found', { projectId }));
}

const updateOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      name: 'text',
      description: 'text?',
      sql_dialect: 'text',
      ignores_access_statements: 'boolean',
      version: 'bigint',
    },
  },
  `
  update project set name = $name, description = $description, sql_dialect = $sql_dialect,
    ignores_access_statements = $ignores_access_statements, version = $version where account_id = $account_id
    and project_id = $project_id`,
);

export function updateProjectRow(tx: Transaction, scope: Scope, row: ProjectRow): void {
  tx.onConstraint('project_name_taken', () => problem('project-name-taken', { name: row.name }));
  tx.send(updateOne, {
    account_id: scope.accountId,
    project_id: row.project_id,
    name: row.name,
    description: row.description,
    sql_dialect: row.sql_dialect,
    ignores_access_statements: row.ignores_access_statements,
    version: row.version,
  });
}

const selectMigration = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' }, row: { migration_id: 'uuid' } },
  `
  select migration_id from repository_migration
  where account_id = $account_id and project_id = $project_id and status = 'IN_PROGRESS'`,
);

/** The project must be locked: a migration begins with a lock of it. @throws `migration-in-progress` */
export async function requireNoMigration(tx: Transaction, scope: Scope, projectId: string): Promise<void> {
  const [found] = await tx.query(selectMigration, { account_id: scope.accountId, project_id: projectId });
  if (found !== undefined) throw problem('migration-in-progress', { migrationId: found.migration_id });
}

// Everything that a project owns references it, directly or indirectly, and is deleted by cascade.
export const deleteProjectRow = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' }, alone: true },
  'delete from project where account_id = $account_id and project_id = $project_id',
);

export function presentProject(row: ProjectRow): Project {
  const project: Project = { id: row.project_id, name: row.name };
  if (row.description !== null) project.description = row.description;
  if (row.sql_dialect !== 'SNOWFLAKE') project.sqlDialect = row.sql_dialect;
  if (row.ignores_access_statements) project.ignoreAccessStatements = true;
  return project;
}

export function renderProjectEtag(row: ProjectRow): string {
  return makeEntityTag(row.project_id, row.version);
}

export const warehouseOfProject = guardedRead(
  { parameters: {}, row: { warehouse: 'text' } },
  'select warehouse from project where account_id = $account_id and project_id = $project_id',
);

/** A ProjectWarehouse of the agent protocol, from a row of `project`. */
export const projectWarehouse = (project: string) =>
  `json_build_object('kind', lower(${project}.warehouse), 'sqlDialect', ${project}.sql_dialect,
    'ignoreAccessStatements', ${project}.ignores_access_statements)`;
