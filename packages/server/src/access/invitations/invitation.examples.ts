/** A request that succeeds for each operation on invitations. */
import type { Examples, Place } from '../../../testing/place.ts';

export const buildInvitation = ({ named }: Place) => ({
  userName: `${named('ada')}@example.com`,
  validMinutes: 1_440,
});

async function createInvitation(place: Place): Promise<string> {
  const made = await place.account.admin.post<{ invitationId: string }>(
    '/invitations',
    buildInvitation(place),
  );
  return `/invitations/${made.body.invitationId}`;
}

/** An account has 1,000 at most, and the examples are sent many times. */
async function deleteAll({ account: { admin } }: Place): Promise<void> {
  const { results } = (await admin.get<{ results: { invitationId: string }[] }>('/invitations?size=100'))
    .body;
  for (const { invitationId } of results) await admin.delete(`/invitations/${invitationId}`);
}

export const invitationExamples: Examples = {
  async listInvitations(place) {
    await createInvitation(place);
    return { path: '/invitations?page=0&size=10' };
  },
  async createInvitation(place) {
    await deleteAll(place);
    return { path: '/invitations', body: buildInvitation(place) };
  },
  deleteInvitation: async (place) => ({ path: await createInvitation(place) }),
};
