/** A request that succeeds for each operation on sessions. */
import type { Examples, Place } from '../../../testing/place.ts';

async function createSession({ account, named }: Place) {
  const user = { userName: `${named('ada')}@example.com` };
  const { userId } = (await account.admin.post<{ userId: string }>('/users', user)).body;
  const { sessionId } = await account.signIn(userId);
  return { path: `/users/${userId}/sessions`, sessionId };
}

export const sessionExamples: Examples = {
  listOwnSessions: () => ({ path: '/me/sessions?page=0&size=10' }),
  deleteOwnSessions: () => ({ path: '/me/sessions' }),
  listUserSessions: async (place) => ({ path: (await createSession(place)).path }),
  async deleteUserSession(place) {
    const { path, sessionId } = await createSession(place);
    return { path: `${path}/${sessionId}` };
  },
  deleteUserSessions: async (place) => ({ path: (await createSession(place)).path }),
};
