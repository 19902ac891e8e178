import { type Static, Type } from 'typebox';
import { operation } from '../operation.ts';
import { Description, ifMatchHeader, Name, oneOf, ProjectId, pageOf, pageQuery } from '../primitives.ts';

export const warehouses = ['SNOWFLAKE', 'REDSHIFT', 'POSTGRES', 'DUCKDB'] as const;
export const agentDeploymentTypes = ['HYBRID', 'FULL_SAAS'] as const;

export const projectPath = { projectId: ProjectId };

/** shapes.md, Projects. */
export const Project = Type.Object({
  id: ProjectId,
  name: Name,
  description: Type.Optional(Description),
});
export type Project = Static<typeof Project>;

export const listProjects = operation({
  id: 'listProjects',
  method: 'GET',
  path: '/v1/projects',
  surface: 'dpc',
  tag: 'Projects',
  summary: 'List the projects that the caller has a role in, newest first',
  permission: 'projects:list',
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(Project) },
  problems: [],
  events: [],
});

export const createProject = operation({
  id: 'createProject',
  method: 'POST',
  path: '/v1/projects',
  surface: 'dpc',
  tag: 'Projects',
  summary: 'Create a project',
  description: 'The caller becomes its Owner.',
  permission: 'projects:create',
  body: Type.Object({
    name: Name,
    description: Type.Optional(Description),
    warehouse: Type.Optional(oneOf(warehouses, { description: 'DUCKDB when it is left out' })),
    agentDeploymentType: oneOf(agentDeploymentTypes),
  }),
  success: { status: 201, body: Type.Object({ projectId: ProjectId }), headers: ['Location', 'ETag'] },
  problems: ['project-name-taken'],
  events: ['project-created'],
});

export const getProject = operation({
  id: 'getProject',
  method: 'GET',
  path: '/v1/projects/{projectId}',
  surface: 'dpc',
  tag: 'Projects',
  summary: 'Read one project',
  permission: 'project:read',
  params: Type.Object(projectPath),
  success: { status: 200, body: Project, headers: ['ETag'] },
  problems: [],
  events: [],
});

export const updateProject = operation({
  id: 'updateProject',
  method: 'PATCH',
  path: '/v1/projects/{projectId}',
  surface: 'dpc',
  tag: 'Projects',
  summary: 'Change a project',
  description: 'Members left out keep their value; an empty description is removed.',
  permission: 'project:manage',
  params: Type.Object(projectPath),
  headers: ifMatchHeader,
  body: Type.Object({ name: Type.Optional(Name), description: Type.Optional(Description) }),
  success: { status: 200, body: Project, headers: ['ETag'] },
  problems: ['project-name-taken', 'etag-mismatch'],
  events: ['project-updated'],
});

export const deleteProject = operation({
  id: 'deleteProject',
  method: 'DELETE',
  path: '/v1/projects/{projectId}',
  surface: 'dpc',
  tag: 'Projects',
  summary: 'Delete a project',
  description: 'Ends what runs in it and deletes everything that it owns; its events stay.',
  permission: 'project:manage',
  params: Type.Object(projectPath),
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['etag-mismatch'],
  events: ['pipeline-execution-ended', 'project-deleted'],
});

export const projectOperations = [
  listProjects,
  createProject,
  getProject,
  updateProject,
  deleteProject,
] as const;
