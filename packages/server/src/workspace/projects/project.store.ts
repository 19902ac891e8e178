/** The table `project`. */
import type { Project } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { entityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { callerSeesAll, guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

export interface ProjectRow {
  project_id: string;
  name: string;
  description: string | null;
  version: number;
}

const visible = `account_id = $1 and (${callerSeesAll} or project_id in (
  select g.project_id from role_grant g where g.account_id = $1 and g.credential_id = $2))`;

/** Parameters: limit, offset. */
export const projectPage = guardedPage<ProjectRow>({
  rows: `
    select project_id, name, description, version from project where ${visible}
    order by project_id desc limit $9 offset $10`,
  total: `select count(*)::bigint as total from project where ${visible}`,
});

/** No parameters: the project is the guard's. */
export const projectById = guardedRead<ProjectRow>(
  'select project_id, name, description, version from project where account_id = $1 and project_id = $3',
);

const insertOne = statement(`
  insert into project (account_id, project_id, name, description, warehouse, agent_deployment_type, version, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`);
const insertOwner = statement(`
  insert into role_grant (account_id, credential_id, project_id, role) values ($1, $2, $3, 'OWNER')`);

/** The caller becomes the project's Owner. */
export function insertProject(
  tx: Transaction,
  scope: Scope,
  row: ProjectRow & { warehouse: string; agent_deployment_type: string },
  now: Date,
): void {
  tx.onConstraint('project_name_taken', () => problem('project-name-taken', { name: row.name }));
  tx.send(insertOne, [
    scope.accountId,
    row.project_id,
    row.name,
    row.description,
    row.warehouse,
    row.agent_deployment_type,
    row.version,
    now,
  ]);
  tx.send(insertOwner, [scope.accountId, scope.actorId, row.project_id]);
}

const lockOne = statement<ProjectRow>(`
  select project_id, name, description, version from project where account_id = $1 and project_id = $2 for update`);

/** Locks a project until the end of the transaction: what is written into it meanwhile waits. Throws `project-not-found`. */
export async function lockProject(tx: Transaction, scope: Scope, projectId: string): Promise<ProjectRow> {
  const [row] = await tx.query(lockOne, [scope.accountId, projectId]);
  if (row === undefined) throw problem('project-not-found', { projectId });
  return row;
}

const updateOne = statement(`
  update project set name = $3, description = $4, version = $5 where account_id = $1 and project_id = $2`);

export function updateProjectRow(tx: Transaction, scope: Scope, row: ProjectRow): void {
  tx.onConstraint('project_name_taken', () => problem('project-name-taken', { name: row.name }));
  tx.send(updateOne, [scope.accountId, row.project_id, row.name, row.description, row.version]);
}

// Everything that a project owns refers to it, directly or through what it owns, and goes by cascade.
const deleteOne = statement('delete from project where account_id = $1 and project_id = $2', { alone: true });

export function deleteProjectRow(tx: Transaction, scope: Scope, projectId: string): void {
  tx.send(deleteOne, [scope.accountId, projectId]);
}

export function presentProject(row: ProjectRow): Project {
  const project: Project = { id: row.project_id, name: row.name };
  if (row.description !== null) project.description = row.description;
  return project;
}

export function projectTag(row: ProjectRow): string {
  return entityTag(row.project_id, row.version);
}
