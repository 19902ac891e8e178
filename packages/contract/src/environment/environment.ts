import { type Static, Type } from 'typebox';
import { operation } from '../operation.ts';
import {
  Description,
  EnvironmentName,
  ifMatchHeader,
  Name,
  nameLimit,
  oneOf,
  pageOf,
  pageQuery,
  Uuid,
} from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import {
  DefaultConnections,
  EnvironmentConnectionOverride,
  environmentOverrideLimit,
} from './environment-connection.ts';

export const defaultUserAccessLevels = ['default', 'admin', 'runner', 'readOnly', 'noAccess'] as const;

export const environmentPath = { ...projectPath, environmentName: EnvironmentName };

/** shapes.md, Environments. */
export const Environment = Type.Object({
  name: EnvironmentName,
  displayName: Type.Optional(Name),
  description: Type.Optional(Description),
  defaultAgentId: Type.Optional(Uuid),
  defaultAgentName: Type.Optional(Name),
});
export type Environment = Static<typeof Environment>;

const environmentConnections = {
  defaultConnections: Type.Optional(DefaultConnections),
  connectionOverrides: Type.Optional(
    Type.Array(EnvironmentConnectionOverride, {
      maxItems: environmentOverrideLimit,
      description: 'Properties of connections of the project that differ in this environment; may be empty',
    }),
  ),
};
const connectionProblems = [
  'unknown-word',
  'unknown-connection',
  'duplicate-connection',
  'connection-properties',
] as const;

export const listEnvironments = operation({
  id: 'listEnvironments',
  method: 'GET',
  path: '/v1/projects/{projectId}/environments',
  surface: 'dpc',
  tag: 'Environments',
  summary: 'List the environments of a project, by name',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(Environment) },
  problems: [],
  events: [],
});

export const createEnvironment = operation({
  id: 'createEnvironment',
  method: 'POST',
  path: '/v1/projects/{projectId}/environments',
  surface: 'dpc',
  tag: 'Environments',
  summary: 'Create an environment',
  description:
    'Its name never changes. Without a data warehouse connection its warehouse is the one embedded in its agent. ' +
    'Without `defaultAgentId` the only agent of the account becomes its default agent. An account with several agents, or none, leaves it ' +
    'without one: its executions then run on the agent that they name.',
  permission: 'project:manage',
  params: Type.Object(projectPath),
  body: Type.Object({
    name: EnvironmentName,
    displayName: Type.Optional(Name),
    description: Type.Optional(Description),
    defaultAgentId: Type.Optional(Name),
    defaultUserAccessLevel: Type.Optional(oneOf(defaultUserAccessLevels)),
    ...environmentConnections,
  }),
  success: { status: 201, body: Environment, headers: ['Location', 'ETag'] },
  problems: ['environment-name-taken', 'unknown-agent', ...connectionProblems],
  events: ['environment-created'],
});

export const getEnvironment = operation({
  id: 'getEnvironment',
  method: 'GET',
  path: '/v1/projects/{projectId}/environments/{environmentName}',
  surface: 'dpc',
  tag: 'Environments',
  summary: 'Read one environment',
  permission: 'project:read',
  params: Type.Object(environmentPath),
  success: { status: 200, body: Environment, headers: ['ETag'] },
  problems: ['environment-not-found'],
  events: [],
});

export const updateEnvironment = operation({
  id: 'updateEnvironment',
  method: 'PATCH',
  path: '/v1/projects/{projectId}/environments/{environmentName}',
  surface: 'dpc',
  tag: 'Environments',
  summary: 'Change an environment',
  description:
    'Members left out keep their value; an empty text removes it. `defaultConnections` and `connectionOverrides` take the place of those that ' +
    'were there.',
  permission: 'environment:manage',
  environmentFrom: 'params.environmentName',
  params: Type.Object(environmentPath),
  headers: ifMatchHeader,
  body: Type.Object({
    displayName: Type.Optional(Type.String({ maxLength: nameLimit })),
    description: Type.Optional(Description),
    defaultAgentId: Type.Optional(Type.String({ maxLength: nameLimit })),
    defaultUserAccessLevel: Type.Optional(oneOf(defaultUserAccessLevels)),
    ...environmentConnections,
  }),
  success: { status: 200, body: Environment, headers: ['ETag'] },
  problems: ['environment-not-found', 'unknown-agent', ...connectionProblems, 'etag-mismatch'],
  events: ['environment-updated'],
});

export const deleteEnvironment = operation({
  id: 'deleteEnvironment',
  method: 'DELETE',
  path: '/v1/projects/{projectId}/environments/{environmentName}',
  surface: 'dpc',
  tag: 'Environments',
  summary: 'Delete an environment',
  description:
    'Cancels what runs in it and deletes its overrides, artifact versions and roles; its executions stay to be read.',
  permission: 'environment:manage',
  environmentFrom: 'params.environmentName',
  params: Type.Object(environmentPath),
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['environment-not-found', 'etag-mismatch'],
  events: ['environment-deleted'],
});

export const environmentOperations = [
  listEnvironments,
  createEnvironment,
  getEnvironment,
  updateEnvironment,
  deleteEnvironment,
] as const;
