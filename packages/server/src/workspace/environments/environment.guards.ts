/** What this slice contributes to the tests over all operations. */

import { countedDescription } from '../../../testing/counted-description.ts';
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { environmentExamples } from './environment.examples.ts';

export const environmentGuards: SliceGuards = {
  examples: environmentExamples,
  uniqueNames: {
    createEnvironment: ({ account, project }, name) =>
      account.admin.post(`${project.path}/environments`, { name }),
  },
  counted: {
    updateEnvironment: { ...countedDescription, path: ({ project }) => `${project.path}/environments/dev` },
  },
  takesPlaceAway: ['deleteEnvironment'],
};
