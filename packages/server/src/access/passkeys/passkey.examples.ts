/** A request that succeeds for each operation on passkeys. */
import type { Examples, Place } from '../../../testing/place.ts';

async function createPasskey({ account, named }: Place) {
  const user = { userName: `${named('ada')}@example.com` };
  const { userId } = (await account.admin.post<{ userId: string }>('/users', user)).body;
  const { passkeyId } = await account.addPasskey(userId);
  return { path: `/users/${userId}/passkeys`, passkeyId };
}

export const passkeyExamples: Examples = {
  listOwnPasskeys: () => ({ path: '/me/passkeys?page=0&size=10' }),
  deleteOwnPasskeys: () => ({ path: '/me/passkeys' }),
  listUserPasskeys: async (place) => ({ path: (await createPasskey(place)).path }),
  async deleteUserPasskey(place) {
    const { path, passkeyId } = await createPasskey(place);
    return { path: `${path}/${passkeyId}` };
  },
};
