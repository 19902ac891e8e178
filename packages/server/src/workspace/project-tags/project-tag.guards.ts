/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { projectTagExamples } from './project-tag.examples.ts';

export const projectTagGuards: SliceGuards = {
  examples: projectTagExamples,
  permissions: {
    'lists of what the caller may read': ['findTaggedProjects'],
    'read a project and what is in it': ['listProjectTags', 'getProjectTag'],
    'create and change variables, connections, secret references': [
      'createProjectTag',
      'updateProjectTag',
      'deleteProjectTag',
    ],
  },
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
