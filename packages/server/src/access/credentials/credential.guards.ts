/** What the tests that walk all operations know of this slice. */
import type { SliceGuards } from '../../testing/slice-guards.ts';
import { credentialExamples } from './credential.examples.ts';

export const credentialGuards: SliceGuards = {
  examples: credentialExamples,
  permissions: {
    'credentials, events of the account': [
      'listCredentials',
      'createCredential',
      'rotateCredential',
      'deleteCredential',
    ],
  },
};
