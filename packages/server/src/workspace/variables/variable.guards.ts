/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { variableExamples } from './variable.examples.ts';

export const variableGuards: SliceGuards = {
  examples: variableExamples,
  uniqueNames: {
    createVariable: ({ account, project }, name) =>
      account.admin.post(`${project.path}/variables`, { name, type: 'TEXT', behaviour: 'SHARED' }),
  },
  counted: {
    updateVariable: {
      create: ({ account, project }) =>
        account.admin.post(`${project.path}/variables`, { name: 'count', ...readNumber(0) }),
      path: ({ project }) => `${project.path}/variables/count`,
      set: readNumber,
      get: (body) => Number(body.value),
    },
  },
};

function readNumber(value: number) {
  return { type: 'NUMBER', behaviour: 'SHARED', value };
}
