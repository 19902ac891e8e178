/** Agents as the management interface shows them: interface.md E18, shapes.md Agents. */
import { type Static, Type } from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, ifMatchHeader, Name, OpaqueId, oneOf, pageOf, pageQuery, Uuid } from '../primitives.ts';

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
export const cloudProviders = ['aws', 'azure', 'gcp', 'snowflake', 'local'] as const;
export const agentDeployments = [
  'fargate',
  'eks',
  'container app',
  'aks',
  'aci',
  'native app',
  'gke',
  'gce',
  'local',
] as const;
export const agentTracks = ['current', 'stable'] as const;
export const agentSupports = ['supported', 'unknown'] as const;

const agentNameLimit = 30;
const agentDescriptionLimit = 500;

const summary = {
  agentId: Uuid,
  agentStatus: oneOf(agentStatuses, {
    description:
      'pending: never connected; unknown: not heard of for 13 s; stopping: says that it ends; pausing: ends what runs and takes nothing new',
  }),
  agentType: oneOf(agentTypes),
  cloudProvider: Type.String({ maxLength: 50 }),
  connected: Type.Boolean({ description: 'Heard of in the last 13 s' }),
  deployment: Type.String({ maxLength: 50 }),
  description: Type.String({ maxLength: agentDescriptionLimit }),
  name: Name,
  pausedUntil: Type.Optional(DateTime),
};

/** interface.md, Agent summary. */
export const AgentSummary = Type.Object(summary);
export type AgentSummary = Static<typeof AgentSummary>;

export const AgentVersionDetails = Type.Object({
  agentVersion: Type.String({
    maxLength: 50,
    description: 'Of the instance that connected last; empty before any has',
  }),
  agentUpdateAvailable: Type.Boolean({ description: 'The track offers another version than the agent runs' }),
  support: oneOf(agentSupports, {
    description:
      'supported: it speaks a version of the agent protocol that this server speaks; unknown: it never connected',
  }),
  trackName: oneOf(agentTracks),
  trackVersion: Type.String({
    maxLength: 50,
    description: 'An agent is released with its server: both tracks offer its version',
  }),
});

export const Agent = Type.Object({
  ...summary,
  enableAutoUpdates: Type.Boolean({
    description: 'Whether whoever runs the agent is to update it; Headgate itself replaces no program',
  }),
  restrictedAccess: Type.Boolean({ description: 'It runs only what its allowlist names' }),
  versionDetails: AgentVersionDetails,
});
export type Agent = Static<typeof Agent>;

export const agentPath = { agentId: OpaqueId };
export const agentOperation = { surface: 'dpc', tag: 'Agents' } as const;

const wordOfFilter = (words: readonly string[]) =>
  Type.String({ minLength: 1, maxLength: 50, description: `${words.join(', ')}; in any case` });

export const listAgents = operation({
  ...agentOperation,
  id: 'listAgents',
  method: 'GET',
  path: '/v1/agents',
  summary: 'List the agents of the account, newest first',
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

const AgentName = Type.String({ minLength: 1, maxLength: agentNameLimit });
const AgentDescription = Type.String({ maxLength: agentDescriptionLimit });

export const createAgent = operation({
  ...agentOperation,
  id: 'createAgent',
  method: 'POST',
  path: '/v1/agents',
  summary: 'Register an agent',
  description: 'Its program is started by its owner, with the credentials that `…/credentials` gives.',
  permission: 'agents:manage',
  body: Type.Object({
    name: AgentName,
    description: Type.Optional(AgentDescription),
    agentType: wordOfFilter(agentTypes),
    cloudProvider: wordOfFilter(cloudProviders),
    deployment: wordOfFilter(agentDeployments),
    trackName: Type.Optional(wordOfFilter(agentTracks)),
    enableAutoUpdates: Type.Optional(Type.Boolean()),
    restrictedAccess: Type.Optional(Type.Boolean()),
  }),
  success: { status: 201, body: Agent, headers: ['Location', 'ETag'] },
  problems: ['agent-name-taken', 'unknown-word'],
  events: ['agent-created'],
});

export const getAgent = operation({
  ...agentOperation,
  id: 'getAgent',
  method: 'GET',
  path: '/v1/agents/{agentId}',
  summary: 'Read one agent',
  permission: 'agents:list',
  params: Type.Object(agentPath),
  success: { status: 200, body: Agent, headers: ['ETag'] },
  problems: ['agent-not-found'],
  events: [],
});

export const updateAgent = operation({
  ...agentOperation,
  id: 'updateAgent',
  method: 'PATCH',
  path: '/v1/agents/{agentId}',
  summary: 'Change an agent',
  description: 'Members left out keep their value.',
  permission: 'agents:manage',
  params: Type.Object(agentPath),
  headers: ifMatchHeader,
  body: Type.Object({
    name: Type.Optional(AgentName),
    description: Type.Optional(AgentDescription),
    trackName: Type.Optional(wordOfFilter(agentTracks)),
    enableAutoUpdates: Type.Optional(Type.Boolean()),
    restrictedAccess: Type.Optional(Type.Boolean()),
  }),
  success: { status: 202, body: Agent, headers: ['ETag'] },
  problems: ['agent-not-found', 'agent-name-taken', 'unknown-word', 'etag-mismatch'],
  events: ['agent-updated'],
});

export const deleteAgent = operation({
  ...agentOperation,
  id: 'deleteAgent',
  method: 'DELETE',
  path: '/v1/agents/{agentId}',
  summary: 'Delete an agent that is stopped, pending or unknown',
  description:
    'Its tokens, certificates and leases end at once. What it held or had waiting ends as CANCELLED. An environment whose default it was has none from then on. ' +
    'With `force=true` an agent in any other state is deleted too, for instance one that was compromised: its event says `forced`. Its program gets no more answers, but what it runs is not stopped: stop it on its machine.',
  permission: 'agents:manage',
  params: Type.Object(agentPath),
  query: Type.Object({ force: Type.Boolean({ default: false }) }),
  headers: ifMatchHeader,
  success: { status: 202 },
  problems: ['agent-not-found', 'agent-not-stopped', 'etag-mismatch'],
  events: ['pipeline-execution-ended', 'secret-write-ended', 'certificate-revoked', 'agent-deleted'],
});

export const AgentCredentials = Type.Object({
  clientId: Type.String({ maxLength: 100 }),
  clientSecret: Type.String({ maxLength: 200 }),
});
export type AgentCredentials = Static<typeof AgentCredentials>;

export const getAgentCredentials = operation({
  ...agentOperation,
  id: 'getAgentCredentials',
  method: 'GET',
  path: '/v1/agents/{agentId}/credentials',
  summary: 'Read what the program of an agent is started with',
  description: 'Each read leaves an event.',
  permission: 'agents:manage',
  params: Type.Object(agentPath),
  success: { status: 200, body: AgentCredentials },
  answerHoldsSecret: true,
  problems: ['agent-not-found', 'agent-secret-not-kept'],
  events: ['agent-credentials-read'],
});

export const agentCredentialActions = ['SECRET_REFRESH'] as const;

export const refreshAgentSecret = operation({
  ...agentOperation,
  id: 'refreshAgentSecret',
  method: 'POST',
  path: '/v1/agents/{agentId}/credentials',
  summary: 'Give an agent another secret',
  description:
    'The secret before it gets no token from then on; tokens that it was given are refused from then on; a server that another one could not tell of it hands them no work, and refuses them within 2 s. The certificates of its instances are revoked: nothing is sealed to them any more, and what was and is not claimed yet ends. The local agent of a server is given the new one by its server.',
  permission: 'agents:manage',
  params: Type.Object(agentPath),
  body: Type.Object({ action: wordOfFilter(agentCredentialActions) }),
  success: { status: 200, body: AgentCredentials },
  answerHoldsSecret: true,
  problems: ['agent-not-found', 'unknown-word'],
  events: ['agent-secret-refreshed', 'certificate-revoked'],
});

export const agentCommandWords = ['RESTART', 'PAUSE', 'RESUME'] as const;

export const commandAgent = operation({
  ...agentOperation,
  id: 'commandAgent',
  method: 'POST',
  path: '/v1/agents/{agentId}/commands',
  summary: 'Pause, resume or restart an agent',
  description:
    'PAUSE ends what runs and lets the rest wait, until RESUME or `pausedUntil`; an agent that is not connected is paused when it comes. RESTART tells each connected instance to take nothing new, end what runs and start again.',
  permission: 'agents:manage',
  params: Type.Object(agentPath),
  body: Type.Object({
    command: wordOfFilter(agentCommandWords),
    pausedUntil: Type.Optional(DateTime),
  }),
  success: { status: 202 },
  problems: ['agent-not-found', 'unknown-word', 'paused-until-in-the-past', 'agent-cannot-restart'],
  events: ['agent-command-given', 'agent-status-changed'],
});

export const agentOperations = [
  listAgents,
  createAgent,
  getAgent,
  updateAgent,
  deleteAgent,
  getAgentCredentials,
  refreshAgentSecret,
  commandAgent,
] as const;
