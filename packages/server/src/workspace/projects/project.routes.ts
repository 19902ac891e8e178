import {
  type BodyOf,
  createProject,
  deleteProject,
  getProject,
  listProjects,
  updateProject,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import { createEventSource } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { endWorkOfProject } from '../../kernel/work/deleted-work.ts';
import type { WorkOwners } from '../../kernel/work/work.ts';
import {
  deleteProjectRow,
  insertProject,
  lockProject,
  presentProject,
  projectById,
  projectPage,
  renderProjectEtag,
  requireNoMigration,
  updateProjectRow,
} from './project.store.ts';

export function projectRoutes({ read, write }: Endpoints, services: { owners: WorkOwners }): void {
  read(listProjects, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(projectPage, { limit, offset });
    return { body: { page: query.page, results: rows.map(presentProject), size: limit, total } };
  });

  read(getProject, async ({ params, rows }) => {
    const row = requireRow(await rows(projectById, {}), () => problem('project-not-found', params));
    return { body: presentProject(row), etag: renderProjectEtag(row) };
  });

  write(createProject, ({ tx, scope, body, now, newId }) => {
    const { warehouse = 'DUCKDB' } = body;
    requireDuckdb(body, warehouse);
    const row = {
      project_id: newId(),
      name: body.name,
      description: body.description ?? null,
      warehouse,
      sql_dialect: body.sqlDialect ?? 'SNOWFLAKE',
      ignores_access_statements: body.ignoreAccessStatements ?? false,
      agent_deployment_type: body.agentDeploymentType,
      version: 1,
    };
    insertProject(tx, scope, row, now);
    return {
      body: { projectId: row.project_id, id: row.project_id },
      etag: renderProjectEtag(row),
      location: `/v1/projects/${row.project_id}`,
      events: [
        {
          name: 'project-created',
          projectId: row.project_id,
          subject: { type: 'project', id: row.project_id, name: row.name },
          after: {
            ...presentProject(row),
            warehouse,
            agentDeploymentType: body.agentDeploymentType,
          },
        },
      ],
    };
  });

  write(updateProject, async ({ tx, scope, params, headers, body }) => {
    const stored = await lockProject(tx, scope, params.projectId);
    requireMatch(headers['If-Match'], renderProjectEtag(stored));
    requireDuckdb(body, stored.warehouse);
    const row = {
      ...stored,
      sql_dialect: body.sqlDialect ?? stored.sql_dialect,
      ignores_access_statements: body.ignoreAccessStatements ?? stored.ignores_access_statements,
      name: body.name ?? stored.name,
      description: body.description === undefined ? stored.description : body.description || null,
      version: stored.version + 1,
    };
    updateProjectRow(tx, scope, row);
    const after = presentProject(row);
    const subject = { type: 'project', id: row.project_id, name: row.name };
    const before = presentProject(stored);
    const event = { name: 'project-updated', projectId: row.project_id, subject, before, after } as const;
    return { body: after, etag: renderProjectEtag(row), events: [event] };
  });

  write(deleteProject, async ({ tx, scope, params, headers, now, newId, requestId }) => {
    const stored = await lockProject(tx, scope, params.projectId);
    requireMatch(headers['If-Match'], renderProjectEtag(stored));
    await requireNoMigration(tx, scope, stored.project_id);
    const source = createEventSource(scope, requestId);
    const moment = { tx, accountId: scope.accountId, source, now, newId };
    await endWorkOfProject(moment, services.owners, stored.project_id);
    tx.send(deleteProjectRow, { account_id: scope.accountId, project_id: stored.project_id });
    const subject = { type: 'project', id: stored.project_id, name: stored.name };
    const before = presentProject(stored);
    return { events: [{ name: 'project-deleted', projectId: stored.project_id, subject, before }] };
  });
}

/** @throws `sql-without-duckdb` */
function requireDuckdb(
  body: Pick<BodyOf<typeof updateProject>, 'sqlDialect' | 'ignoreAccessStatements'>,
  warehouse: string,
): void {
  if (warehouse === 'DUCKDB') return;
  for (const member of ['sqlDialect', 'ignoreAccessStatements'] as const)
    if (body[member] !== undefined) throw problem('sql-without-duckdb', { member, warehouse });
}
