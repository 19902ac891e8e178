import { type Static, Type } from 'typebox';
import { vaultNameProblems } from '../agent/vault-access.ts';
import { nameLimit } from '../limits.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import {
  Description,
  EnvironmentName,
  IdOrNone,
  ifMatchHeader,
  Name,
  OpaqueId,
  oneOf,
  pageOf,
  pageQuery,
  Uuid,
} from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { QualityRule, qualityGates, qualityRulesLimit } from '../review/review.ts';
import {
  DefaultConnections,
  EnvironmentConnectionOverride,
  environmentOverrideLimit,
} from './environment-connection.ts';

export const defaultUserAccessLevels = ['default', 'admin', 'runner', 'readOnly', 'noAccess'] as const;

const QualityGate = oneOf(qualityGates, {
  description:
    'What a new or promoted version needs. NONE (the default, which is not shown): nothing. WARN: errors of its quality review are reported. REQUIRED: its quality review must be PASSED',
});

const QualityGateRules = Type.Array(QualityRule, {
  maxItems: qualityRulesLimit,
  description:
    'The rules of the quality gate, with the members of a rules file. The rules files of versions do not count for the gate then. An empty list (the default, which is not shown): they do',
});

export const environmentPath = { ...projectPath, environmentName: EnvironmentName };

export const Environment = named(
  'Environment',
  Type.Object({
    name: EnvironmentName,
    displayName: Type.Optional(Name),
    description: Type.Optional(Description),
    defaultAgentId: Type.Optional(Uuid),
    defaultAgentName: Type.Optional(Name),
    qualityGate: Type.Optional(QualityGate),
    qualityGateRules: Type.Optional(QualityGateRules),
  }),
);
export type Environment = Static<typeof Environment>;

const environmentConnections = {
  defaultConnections: Type.Optional(DefaultConnections),
  connectionOverrides: Type.Optional(
    Type.Array(EnvironmentConnectionOverride, {
      maxItems: environmentOverrideLimit,
      description: 'Connection properties that differ in this environment. The list can be empty',
    }),
  ),
};
const connectionProblems = [
  'unknown-word',
  'unknown-connection',
  'duplicate-connection',
  'connection-properties',
] as const;

const environmentOperation = { surface: 'dpc', tag: 'Environments' } as const;

export const listEnvironments = operation({
  ...environmentOperation,
  id: 'listEnvironments',
  method: 'GET',
  path: '/v1/projects/{projectId}/environments',
  summary: 'List environments',
  description: 'Sorted by name.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(Environment) },
  problems: [],
  events: [],
});

export const createEnvironment = operation({
  ...environmentOperation,
  id: 'createEnvironment',
  method: 'POST',
  path: '/v1/projects/{projectId}/environments',
  summary: 'Create an environment',
  description:
    'The name cannot be changed later. Without a data warehouse connection, the environment uses the embedded warehouse of its agent. ' +
    'Without `defaultAgentId`, the default agent is the only agent of the account. If the account has several agents or none, the environment has no default agent: ' +
    'start each execution with an `agentId`.',
  permission: 'project:manage',
  params: Type.Object(projectPath),
  body: Type.Object({
    name: EnvironmentName,
    displayName: Type.Optional(Name),
    description: Type.Optional(Description),
    defaultAgentId: Type.Optional(OpaqueId),
    defaultUserAccessLevel: Type.Optional(oneOf(defaultUserAccessLevels)),
    qualityGate: Type.Optional(QualityGate),
    qualityGateRules: Type.Optional(QualityGateRules),
    ...environmentConnections,
  }),
  success: { status: 201, body: Environment, headers: ['Location', 'ETag'] },
  problems: [
    'environment-name-taken',
    'environment-name-spaces',
    'unknown-agent',
    'quality-rules-refused',
    'permissions-not-held',
    ...connectionProblems,
    ...vaultNameProblems,
  ],
  events: ['environment-created', 'vault-names-granted'],
});

export const getEnvironment = operation({
  ...environmentOperation,
  id: 'getEnvironment',
  method: 'GET',
  path: '/v1/projects/{projectId}/environments/{environmentName}',
  summary: 'Get an environment',
  permission: 'project:read',
  params: Type.Object(environmentPath),
  success: { status: 200, body: Environment, headers: ['ETag'] },
  problems: ['environment-not-found'],
  events: [],
});

export const updateEnvironment = operation({
  ...environmentOperation,
  id: 'updateEnvironment',
  method: 'PATCH',
  path: '/v1/projects/{projectId}/environments/{environmentName}',
  summary: 'Update an environment',
  description:
    'Members that the request omits keep their value. An empty string removes the value. `defaultConnections` and `connectionOverrides` replace the existing ones.',
  permission: 'environment:manage',
  environmentFrom: 'params.environmentName',
  params: Type.Object(environmentPath),
  headers: ifMatchHeader,
  body: Type.Object({
    displayName: Type.Optional(Type.String({ maxLength: nameLimit })),
    description: Type.Optional(Description),
    defaultAgentId: Type.Optional(IdOrNone),
    defaultUserAccessLevel: Type.Optional(oneOf(defaultUserAccessLevels)),
    qualityGate: Type.Optional(QualityGate),
    qualityGateRules: Type.Optional(QualityGateRules),
    ...environmentConnections,
  }),
  success: { status: 200, body: Environment, headers: ['ETag'] },
  problems: [
    'environment-not-found',
    'unknown-agent',
    'quality-rules-refused',
    'permissions-not-held',
    ...connectionProblems,
    ...vaultNameProblems,
    'etag-mismatch',
  ],
  events: ['environment-updated', 'vault-names-granted'],
});

export const deleteEnvironment = operation({
  ...environmentOperation,
  id: 'deleteEnvironment',
  method: 'DELETE',
  path: '/v1/projects/{projectId}/environments/{environmentName}',
  summary: 'Delete an environment',
  description:
    'Cancels the running executions of the environment and deletes its overrides, artifact versions, schedules and roles. Its executions are kept and can still be read. ' +
    'Its tables and files on agents are deleted, too; the event names the tables. While it holds tables, or its agent cannot be asked for them, the response is 409 without `confirm=true`. ' +
    'Tables in a warehouse that a connection names stay.',
  permission: 'environment:manage',
  environmentFrom: 'params.environmentName',
  params: Type.Object(environmentPath),
  query: Type.Object({
    confirm: Type.Boolean({ default: false, description: 'Delete the tables of the environment, too' }),
  }),
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['environment-not-found', 'environment-holds-tables', 'etag-mismatch'],
  events: ['environment-deleted', 'schedule-deleted', 'warehouse-query-requested'],
});

export const environmentOperations = [
  listEnvironments,
  createEnvironment,
  getEnvironment,
  updateEnvironment,
  deleteEnvironment,
] as const;
