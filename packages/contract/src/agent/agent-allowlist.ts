/** Allowlists: which projects and environments may use an agent with restricted access. */
import { type Static, Type } from 'typebox';
import { operation } from '../operation.ts';
import { EnvironmentName, mapOf } from '../primitives.ts';
import { agentOperation, agentPath } from './agent.ts';

export const allowedEnvironmentLimit = 100;
const AllowedProject = Type.Object({
  environments: Type.Optional(
    Type.Array(EnvironmentName, {
      minItems: 1,
      maxItems: allowedEnvironmentLimit,
      description: 'Absent: all of them',
    }),
  ),
});
/** Which projects, by their id, and which of their environments may use a restricted agent. */
export const AgentAllowlist = Type.Object({ projects: mapOf(AllowedProject, { maxProperties: 1_000 }) });
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
  summary: 'Write the allowlist of an agent',
  description:
    'It counts while the agent has restrictedAccess: an execution for another place ends as FORBIDDEN, also one that waits already.',
  body: AgentAllowlist,
  problems: allowlistProblems,
});

export const extendAgentAllowlist = operation({
  ...allowlistOperation,
  id: 'extendAgentAllowlist',
  method: 'PATCH',
  summary: 'Change the allowlist of an agent, project by project',
  description:
    'What is said of a project takes the place of what was said of it; other projects stay as they are.',
  body: AgentAllowlist,
  problems: allowlistProblems,
});

export const clearAgentAllowlist = operation({
  ...allowlistOperation,
  id: 'clearAgentAllowlist',
  method: 'DELETE',
  summary: 'Empty the allowlist of an agent',
  problems: ['agent-not-found'],
});

export const agentAllowlistOperations = [
  replaceAgentAllowlist,
  extendAgentAllowlist,
  clearAgentAllowlist,
] as const;
