/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { invitationExamples } from './invitation.examples.ts';

export const invitationGuards: SliceGuards = {
  examples: invitationExamples,
  uniqueNames: {
    createInvitation: ({ account }, name) => account.admin.post('/invitations', { userName: name }),
  },
};
