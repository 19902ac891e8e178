import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { Description, ifMatchHeader, Name, oneOf, ProjectId, pageOf, pageQuery } from '../primitives.ts';

/** Warehouses to which a project can have connections. */
export const connectedWarehouses = ['SNOWFLAKE', 'REDSHIFT', 'POSTGRES', 'DUCKDB'] as const;
/** A run in one of the last two is refused by name. */
export const warehouses = [...connectedWarehouses, 'DATABRICKS', 'BIGQUERY'] as const;
export type ProjectWarehouseName = (typeof warehouses)[number];
/** Whose SQL a DUCKDB project runs, where the vendors differ. */
export const sqlDialects = ['SNOWFLAKE', 'REDSHIFT'] as const;
export type SqlDialect = (typeof sqlDialects)[number];
export const agentDeploymentTypes = ['HYBRID', 'FULL_SAAS'] as const;

export const projectPath = { projectId: ProjectId };

const sqlMembers = {
  sqlDialect: Type.Optional(
    oneOf(sqlDialects, {
      description: 'Of a DUCKDB project: the dialect of its SQL, where the vendors differ. Absent: SNOWFLAKE',
    }),
  ),
  ignoreAccessStatements: Type.Optional(
    Type.Boolean({
      description:
        'Of a DUCKDB project: whether statements that change who may read (GRANT, REVOKE, roles, policies) have no effect instead of failing. Absent: false',
    }),
  ),
};

export const Project = named(
  'Project',
  Type.Object({
    id: ProjectId,
    name: Name,
    description: Type.Optional(Description),
    ...sqlMembers,
  }),
);
export type Project = Static<typeof Project>;

const projectOperation = { surface: 'dpc', tag: 'Projects' } as const;

export const listProjects = operation({
  ...projectOperation,
  id: 'listProjects',
  method: 'GET',
  path: '/v1/projects',
  summary: 'List projects',
  description: 'Contains the projects in which the caller has a role, newest first.',
  permission: 'projects:list',
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(Project) },
  problems: [],
  events: [],
});

export const createProject = operation({
  ...projectOperation,
  id: 'createProject',
  method: 'POST',
  path: '/v1/projects',
  summary: 'Create a project',
  description: 'The caller becomes the owner of the project.',
  permission: 'projects:create',
  body: Type.Object({
    name: Name,
    description: Type.Optional(Description),
    warehouse: Type.Optional(oneOf(warehouses, { description: 'DUCKDB by default' })),
    agentDeploymentType: oneOf(agentDeploymentTypes),
    ...sqlMembers,
  }),
  success: {
    status: 201,
    body: Type.Object({
      projectId: ProjectId,
      id: { ...ProjectId, description: 'The same, as the other operations name it' },
    }),
    headers: ['Location', 'ETag'],
  },
  problems: ['project-name-taken', 'sql-without-duckdb'],
  events: ['project-created'],
});

export const getProject = operation({
  ...projectOperation,
  id: 'getProject',
  method: 'GET',
  path: '/v1/projects/{projectId}',
  summary: 'Get a project',
  permission: 'project:read',
  params: Type.Object(projectPath),
  success: { status: 200, body: Project, headers: ['ETag'] },
  problems: [],
  events: [],
});

export const updateProject = operation({
  ...projectOperation,
  id: 'updateProject',
  method: 'PATCH',
  path: '/v1/projects/{projectId}',
  summary: 'Update a project',
  description:
    'Members that the request omits keep their value. An empty description removes the description.',
  permission: 'project:manage',
  params: Type.Object(projectPath),
  headers: ifMatchHeader,
  body: Type.Object({
    name: Type.Optional(Name),
    description: Type.Optional(Description),
    ...sqlMembers,
  }),
  success: { status: 200, body: Project, headers: ['ETag'] },
  problems: ['project-name-taken', 'sql-without-duckdb', 'etag-mismatch'],
  events: ['project-updated'],
});

export const deleteProject = operation({
  ...projectOperation,
  id: 'deleteProject',
  method: 'DELETE',
  path: '/v1/projects/{projectId}',
  summary: 'Delete a project',
  description:
    'Stops the running executions of the project and deletes everything in it. Its events are kept. Refused while its repository is being migrated.',
  permission: 'project:manage',
  params: Type.Object(projectPath),
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['etag-mismatch', 'migration-in-progress'],
  events: ['pipeline-execution-ended', 'lineage-recorded', 'test-execution-ended', 'project-deleted'],
});

export const projectOperations = [
  listProjects,
  createProject,
  getProject,
  updateProject,
  deleteProject,
] as const;
