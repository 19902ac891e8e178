/** A request that succeeds for each operation on projects. */
import type { Examples } from '../../../testing/place.ts';

export const projectExamples: Examples = {
  listProjects: () => ({ path: '/projects' }),
  createProject: ({ named }) => ({
    path: '/projects',
    body: {
      name: named('Flights'),
      description: 'Delays by airport',
      warehouse: 'DUCKDB',
      agentDeploymentType: 'HYBRID',
    },
  }),
  getProject: ({ project }) => ({ path: project.path }),
  updateProject: ({ project }) => ({ path: project.path, body: { description: 'Wet days a month' } }),
  deleteProject: ({ project }) => ({ path: project.path }),
};
