/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { personalTokenExamples } from './personal-token.examples.ts';

export const personalTokenGuards: SliceGuards = {
  examples: personalTokenExamples,
  permissions: {
    'lists of what the caller may read': ['listOwnTokens', 'createOwnToken', 'deleteOwnToken'],
    'users and groups of the account': ['listUserTokens', 'deleteUserToken'],
  },
};
