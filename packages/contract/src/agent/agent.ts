/** Agents as the management interface shows them. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import {
  DateTime,
  EnvironmentName,
  ifMatchHeader,
  Name,
  OpaqueId,
  oneOf,
  pageOf,
  pageQuery,
  Uuid,
} from '../primitives.ts';
import { VaultAccess } from './vault-access.ts';

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
export const AgentStatus = named(
  'AgentStatus',
  oneOf(agentStatuses, {
    description:
      'pending: it has never connected; unknown: no heartbeat for 13 s; stopping: it finishes its work and stops; pausing: it finishes its work and takes no more',
  }),
);
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
  agentStatus: AgentStatus,
  agentType: named('AgentType', oneOf(agentTypes)),
  cloudProvider: Type.String({ maxLength: 50 }),
  connected: Type.Boolean({ description: 'Whether the agent sent a heartbeat in the last 13 s' }),
  deployment: Type.String({ maxLength: 50 }),
  description: Type.String({ maxLength: agentDescriptionLimit }),
  name: Name,
  pausedUntil: Type.Optional(DateTime),
};

export const agentWeightLimit = 100;
const AgentWeight = named(
  'AgentWeight',
  Type.Object({
    projectId: Uuid,
    environmentName: Type.Optional({
      ...EnvironmentName,
      description:
        'Absent: the weight of the project among projects. Else that of the environment among those of its project',
    }),
    weight: Type.Integer({ minimum: 1, maximum: 100, description: 'Works of one turn. The default is 1' }),
  }),
);
export type AgentWeight = Static<typeof AgentWeight>;
const shares = {
  environmentShare: Type.Integer({
    minimum: 1,
    maximum: 100,
    description:
      'The part of the places of the agent, in percent and rounded up, that one environment may hold. The default is 50. The only environment that an agent serves may hold all',
  }),
  weights: Type.Array(AgentWeight, {
    maxItems: agentWeightLimit,
    description:
      'How much work projects and environments get in their turns. Those that are not listed have the weight 1',
  }),
};

export const AgentSummary = named('AgentSummary', Type.Object(summary));
export type AgentSummary = Static<typeof AgentSummary>;

export const AgentVersionDetails = named(
  'AgentVersionDetails',
  Type.Object({
    agentVersion: Type.String({
      maxLength: 50,
      description: 'The version of the instance that connected last. Empty if none has connected',
    }),
    agentUpdateAvailable: Type.Boolean({
      description: 'Whether the track has a different version from the one that the agent runs',
    }),
    support: oneOf(agentSupports, {
      description:
        'supported: the agent and the server have a version of the agent protocol in common. unknown: the agent has never connected',
    }),
    trackName: named('AgentTrack', oneOf(agentTracks)),
    trackVersion: Type.String({
      maxLength: 50,
      description: 'The version of the server: agents are released together with the server, in both tracks',
    }),
  }),
);

export const Agent = named(
  'Agent',
  Type.Object({
    ...summary,
    enableAutoUpdates: Type.Boolean({
      description:
        'Whether the operator of the agent should update it. Headgate does not install updates itself',
    }),
    restrictedAccess: Type.Boolean({
      description: 'Whether only projects and environments in the allowlist can use the agent',
    }),
    ...shares,
    versionDetails: AgentVersionDetails,
    vaultAccess: Type.Optional(VaultAccess),
  }),
);
export type Agent = Static<typeof Agent>;

export const agentPath = { agentId: OpaqueId };
export const agentOperation = { surface: 'dpc', tag: 'Agents' } as const;

const wordOfFilter = (words: readonly string[]) =>
  Type.String({ minLength: 1, maxLength: 50, description: `${words.join(', ')}; not case-sensitive` });

export const listAgents = operation({
  ...agentOperation,
  id: 'listAgents',
  method: 'GET',
  path: '/v1/agents',
  summary: 'List agents',
  description: 'Newest first.',
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
  summary: 'Create an agent',
  description:
    'Registers an agent. To start its program, use the credentials from `GET /v1/agents/{agentId}/credentials`.',
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
  summary: 'Get an agent',
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
  summary: 'Update an agent',
  description:
    'Members that the request omits keep their value. `vaultAccess` replaces the entries of the projects that it names; other projects keep theirs, and an empty entry removes all of a project.',
  permission: 'agents:manage',
  params: Type.Object(agentPath),
  headers: ifMatchHeader,
  body: Type.Object({
    name: Type.Optional(AgentName),
    description: Type.Optional(AgentDescription),
    trackName: Type.Optional(wordOfFilter(agentTracks)),
    enableAutoUpdates: Type.Optional(Type.Boolean()),
    restrictedAccess: Type.Optional(Type.Boolean()),
    vaultAccess: Type.Optional(VaultAccess),
    environmentShare: Type.Optional(shares.environmentShare),
    weights: Type.Optional(shares.weights),
  }),
  success: { status: 202, body: Agent, headers: ['ETag'] },
  problems: ['agent-not-found', 'agent-name-taken', 'unknown-word', 'unknown-project', 'etag-mismatch'],
  events: ['agent-updated', 'agent-vault-access-updated'],
});

export const deleteAgent = operation({
  ...agentOperation,
  id: 'deleteAgent',
  method: 'DELETE',
  path: '/v1/agents/{agentId}',
  summary: 'Delete an agent',
  description:
    'The agent must be stopped, pending or unknown. Its tokens, certificates and leases become invalid immediately, and its running and waiting work ends as CANCELLED. ' +
    'Environments for which it was the default agent no longer have a default agent. ' +
    'With `force=true`, an agent in any other state is deleted too, for example one that was compromised; the event then has `forced`. The server stops answering the program of the agent, but does not stop it: stop it on its machine.',
  permission: 'agents:manage',
  params: Type.Object(agentPath),
  query: Type.Object({ force: Type.Boolean({ default: false }) }),
  headers: ifMatchHeader,
  success: { status: 202 },
  problems: ['agent-not-found', 'agent-not-stopped', 'etag-mismatch'],
  events: [
    'pipeline-execution-ended',
    'lineage-recorded',
    'test-execution-ended',
    'secret-write-ended',
    'certificate-revoked',
    'agent-deleted',
  ],
});

export const AgentCredentials = named(
  'AgentCredentials',
  Type.Object({
    clientId: Type.String({ maxLength: 100 }),
    clientSecret: Type.String({ maxLength: 200 }),
  }),
);
export type AgentCredentials = Static<typeof AgentCredentials>;

export const getAgentCredentials = operation({
  ...agentOperation,
  id: 'getAgentCredentials',
  method: 'GET',
  path: '/v1/agents/{agentId}/credentials',
  summary: 'Get agent credentials',
  description: 'The client id and secret for the program of the agent. Each request is recorded as an event.',
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
  summary: 'Refresh the secret of an agent',
  description:
    'Creates a new secret. The old secret can no longer be used to get tokens, and the existing tokens of the agent are refused: immediately by this server, and within 2 s by every other server. ' +
    'The certificates of its instances are revoked: no more values are sealed for them, and sealed values that no instance has claimed are discarded. The local agent of a server gets the new secret automatically.',
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
    'PAUSE: running work finishes and other work waits, until RESUME or `pausedUntil`; an agent that is not connected is paused when it connects. ' +
    'RESTART: each connected instance finishes its running work, takes no more, and restarts.',
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
