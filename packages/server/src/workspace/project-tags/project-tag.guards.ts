/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { projectTagExamples } from './project-tag.examples.ts';

export const projectTagGuards: SliceGuards = {
  examples: projectTagExamples,
  uniqueNames: {
    createProjectTag: ({ account, project }, name) =>
      account.admin.post(`${project.path}/tags`, { name, value: '' }),
  },
  counted: {
    updateProjectTag: {
      set: (count) => ({ value: `${count}` }),
      get: (body) => Number(body.value),
      create: ({ account, project }) =>
        account.admin.post(`${project.path}/tags`, { name: 'count', value: '0' }),
      path: ({ project }) => `${project.path}/tags/count`,
    },
  },
};
