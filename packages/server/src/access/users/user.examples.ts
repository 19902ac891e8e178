/** A request that succeeds for each operation on users and personal credentials. */
import type { Examples, Place } from '../../../testing/place.ts';

export const buildUser = ({ named }: Place) => ({
  userName: `${named('ada')}@example.com`,
  displayName: 'Ada Lovelace',
});

/** Returns its id. */
export async function createUser(place: Place): Promise<string> {
  const made = await place.account.admin.post<{ userId: string }>('/users', buildUser(place));
  return made.body.userId;
}

const credential = { name: 'laptop', expiresAt: '2099-01-01T00:00:00.000Z' };

async function createUserCredential(place: Place): Promise<string> {
  const path = `/users/${await createUser(place)}/credentials`;
  const made = await place.account.admin.post<{ credentialId: string }>(path, credential);
  return `${path}/${made.body.credentialId}`;
}

export const userExamples: Examples = {
  async listUsers(place) {
    await createUser(place);
    return { path: '/users?page=0&size=1' };
  },
  createUser: (place) => ({ path: '/users', body: buildUser(place) }),
  getUser: async (place) => ({ path: `/users/${await createUser(place)}` }),
  updateUser: async (place) => ({ path: `/users/${await createUser(place)}`, body: { active: false } }),
  deleteUser: async (place) => ({ path: `/users/${await createUser(place)}` }),
  listUserCredentials: async (place) => ({
    path: (await createUserCredential(place)).replace(/\/[^/]+$/, ''),
  }),
  createUserCredential: async (place) => ({
    path: `/users/${await createUser(place)}/credentials`,
    body: credential,
  }),
  deleteUserCredential: async (place) => ({ path: await createUserCredential(place) }),
};
