/** Allowlists: which projects and environments may use an agent with restricted access. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { EnvironmentName, mapOf } from '../primitives.ts';
import { agentOperation, agentPath } from './agent.ts';

export const allowedEnvironmentLimit = 100;
const AllowedProject = named(
  'AllowedProject',
  Type.Object({
    environments: Type.Optional(
      Type.Array(EnvironmentName, {
        minItems: 1,
        maxItems: allowedEnvironmentLimit,
        description: 'All environments of the project if absent',
      }),
    ),
  }),
);
/** The projects, by id, and their environments that can use an agent with restricted access. */
export const AgentAllowlist = named(
  'AgentAllowlist',
  Type.Object({ projects: mapOf(AllowedProject, { maxProperties: 1_000 }) }),
);
export type AgentAllowlist = Static<typeof AgentAllowlist>;

const allowlistOperation = {
  ...agentOperation,
  path: '/v1/agents/{agentId}/allowlist',
  permission: 'agents:manage',
  params: Type.Object(agentPath),
  success: { status: 200, body: AgentAllowlist },
  events: ['agent-allowlist-updated'],
} as const;
const allowlistProblems = ['agent-not-found', 'unknown-project', 'unknown-environment'] as const;

export const replaceAgentAllowlist = operation({
  ...allowlistOperation,
  id: 'replaceAgentAllowlist',
  method: 'PUT',
  summary: 'Replace the allowlist of an agent',
  description:
    'The allowlist applies while the agent has `restrictedAccess`. An execution for a project or environment that it does not contain ends as FORBIDDEN, even if it is already waiting.',
  body: AgentAllowlist,
  problems: allowlistProblems,
});

export const extendAgentAllowlist = operation({
  ...allowlistOperation,
  id: 'extendAgentAllowlist',
  method: 'PATCH',
  summary: 'Update the allowlist of an agent',
  description: 'Replaces the entries of the projects in the request. Other projects keep their entries.',
  body: AgentAllowlist,
  problems: allowlistProblems,
});

export const clearAgentAllowlist = operation({
  ...allowlistOperation,
  id: 'clearAgentAllowlist',
  method: 'DELETE',
  summary: 'Clear the allowlist of an agent',
  problems: ['agent-not-found'],
});

export const agentAllowlistOperations = [
  replaceAgentAllowlist,
  extendAgentAllowlist,
  clearAgentAllowlist,
] as const;
