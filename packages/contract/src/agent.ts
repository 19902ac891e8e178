/** Agents as the management interface shows them: interface.md E18, shapes.md Agents. */
import { type Static, Type } from 'typebox';
import { operation } from './operation.ts';
import { DateTime, Name, OpaqueId, oneOf, pageOf, pageQuery, Uuid } from './primitives.ts';

export const agentStatuses = [
  'pending',
  'running',
  'unknown',
  'stopping',
  'stopped',
  'pausing',
  'paused',
] as const;
export type AgentStatus = (typeof agentStatuses)[number];
export const agentTypes = ['data_productivity_cloud', 'streaming'] as const;

/** interface.md, Agent summary. */
export const AgentSummary = Type.Object({
  agentId: Uuid,
  agentStatus: oneOf(agentStatuses),
  agentType: oneOf(agentTypes),
  cloudProvider: Type.String({ maxLength: 50 }),
  connected: Type.Boolean(),
  deployment: Type.String({ maxLength: 50 }),
  description: Type.String({ maxLength: 500 }),
  name: Name,
  pausedUntil: Type.Optional(DateTime),
});
export type AgentSummary = Static<typeof AgentSummary>;

const wordOfFilter = (words: readonly string[]) =>
  Type.String({ minLength: 1, maxLength: 50, description: `${words.join(', ')}; in any case` });

export const listAgents = operation({
  id: 'listAgents',
  method: 'GET',
  path: '/v1/agents',
  surface: 'dpc',
  tag: 'Agents',
  summary: 'List the agents of the account, newest first (E18)',
  permission: 'agents:list',
  query: Type.Object({
    ...pageQuery,
    agentType: Type.Optional(wordOfFilter(agentTypes)),
    agentStatus: Type.Optional(wordOfFilter(agentStatuses)),
    name: Type.Optional(Name),
    agentId: Type.Optional(OpaqueId),
  }),
  success: { status: 200, body: pageOf(AgentSummary) },
  problems: ['agent-not-found'],
  events: [],
});
