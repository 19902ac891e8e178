/** What this slice contributes to the tests over all operations. */

import { countedDescription } from '../../../testing/counted-description.ts';
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { projectExamples } from './project.examples.ts';

export const projectGuards: SliceGuards = {
  examples: projectExamples,
  uniqueNames: {
    createProject: ({ account }, name) =>
      account.admin.post('/projects', { name, warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' }),
    async updateProject({ account }, name) {
      const { path } = await account.project();
      return account.admin.patch(path, { name });
    },
  },
  counted: { updateProject: { ...countedDescription, path: ({ project }) => project.path } },
  takesPlaceAway: ['deleteProject'],
};
