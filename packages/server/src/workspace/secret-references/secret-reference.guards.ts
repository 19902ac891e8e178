/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { secretReferenceExamples } from './secret-reference.examples.ts';

export const secretReferenceGuards: SliceGuards = {
  examples: secretReferenceExamples,
  uniqueNames: {
    createSecretReference: ({ account, project }, name) =>
      account.admin.post(`${project.path}/secret-references/${name}`, {
        type: 'PASSWORD',
        secretName: 'key',
      }),
  },
};
