/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { sessionExamples } from './session.examples.ts';

export const sessionGuards: SliceGuards = {
  examples: sessionExamples,
  permissions: {
    'lists of what the caller may read': ['listOwnSessions', 'deleteOwnSessions'],
    'users and groups of the account': ['listUserSessions', 'deleteUserSession', 'deleteUserSessions'],
  },
};
