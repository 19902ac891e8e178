/** A request that succeeds for each operation on environments. */
import type { Examples } from '../../../testing/place.ts';

export const environmentExamples: Examples = {
  listEnvironments: ({ project }) => ({ path: `${project.path}/environments` }),
  createEnvironment: ({ project, agent, named }) => ({
    path: `${project.path}/environments`,
    body: { name: named('staging'), displayName: 'Staging', defaultAgentId: agent.agentId },
  }),
  getEnvironment: ({ project }) => ({ path: `${project.path}/environments/dev` }),
  updateEnvironment: ({ project }) => ({
    path: `${project.path}/environments/dev`,
    body: { description: 'For trying things out' },
  }),
  deleteEnvironment: ({ project }) => ({ path: `${project.path}/environments/dev?confirm=true` }),
};
