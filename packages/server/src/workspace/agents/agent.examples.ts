/** A request that succeeds for each operation on agents. */
import type { Examples, Place } from '../../../testing/place.ts';

const day = 86_400_000;

const buildAgent = ({ named }: Place) => ({
  name: named('bergen').slice(0, 30),
  description: 'Loads the weather of the west',
  agentType: 'data_productivity_cloud',
  cloudProvider: 'aws',
  deployment: 'fargate',
});

async function createAgent(place: Place): Promise<string> {
  return (await place.account.admin.post<{ agentId: string }>('/agents', buildAgent(place))).body.agentId;
}

export const agentExamples: Examples = {
  listAgents: () => ({ path: '/agents' }),
  createAgent: (place) => ({ path: '/agents', body: buildAgent(place) }),
  getAgent: ({ agent }) => ({ path: `/agents/${agent.agentId}` }),
  updateAgent: ({ agent }) => ({
    path: `/agents/${agent.agentId}`,
    body: { description: 'Loads the weather of the east' },
  }),
  deleteAgent: async (place) => ({ path: `/agents/${await createAgent(place)}` }),
  getAgentCredentials: async (place) => ({ path: `/agents/${await createAgent(place)}/credentials` }),
  refreshAgentSecret: async (place) => ({
    path: `/agents/${await createAgent(place)}/credentials`,
    body: { action: 'SECRET_REFRESH' },
  }),
  commandAgent: async (place) => ({
    path: `/agents/${await createAgent(place)}/commands`,
    body: { command: 'PAUSE', pausedUntil: new Date(place.now.getTime() + day).toISOString() },
  }),
  replaceAgentAllowlist: ({ agent, project }) => ({
    path: `/agents/${agent.agentId}/allowlist`,
    body: { projects: { [project.projectId]: { environments: ['dev'] } } },
  }),
  extendAgentAllowlist: ({ agent, project }) => ({
    path: `/agents/${agent.agentId}/allowlist`,
    body: { projects: { [project.projectId]: {} } },
  }),
  clearAgentAllowlist: ({ agent }) => ({ path: `/agents/${agent.agentId}/allowlist` }),
};
