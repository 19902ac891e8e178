/** A request that succeeds for each operation on personal tokens. */
import type { Examples, Place } from '../../../testing/place.ts';

const narrowed = { name: 'nightly report', role: 'MEMBER' };

/** Only a person who is signed in makes tokens. */
async function signIn({ account, named, now }: Place) {
  const user = { userName: `${named('ada')}@example.com` };
  const { userId } = (await account.admin.post<{ userId: string }>('/users', user)).body;
  const headers = { authorization: `Bearer ${await account.signInProgram(userId)}` };
  const expiresAt = new Date(now.getTime() + 30 * 86_400_000).toISOString();
  return { userId, headers, body: { ...narrowed, expiresAt } };
}

async function createToken(place: Place) {
  const { userId, headers, body } = await signIn(place);
  const made = await place.account.admin.post<{ tokenId: string }>('/me/tokens', body, { headers });
  return { userId, headers, tokenId: made.body.tokenId };
}

export const personalTokenExamples: Examples = {
  listOwnTokens: () => ({ path: '/me/tokens?page=0&size=10' }),
  async createOwnToken(place) {
    const { headers, body } = await signIn(place);
    return { path: '/me/tokens', headers, body };
  },
  async deleteOwnToken(place) {
    const { headers, tokenId } = await createToken(place);
    return { path: `/me/tokens/${tokenId}`, headers };
  },
  listUserTokens: async (place) => ({ path: `/users/${(await createToken(place)).userId}/tokens` }),
  async deleteUserToken(place) {
    const { userId, tokenId } = await createToken(place);
    return { path: `/users/${userId}/tokens/${tokenId}` };
  },
};
