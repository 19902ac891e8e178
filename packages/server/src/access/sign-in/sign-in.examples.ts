/** A request that succeeds for each operation on sign-in links. */
import type { Examples } from '../../../testing/place.ts';

export const signInExamples: Examples = {
  async createSignInLink({ account, named }) {
    const user = { userName: `${named('ada')}@example.com` };
    const { userId } = (await account.admin.post<{ userId: string }>('/users', user)).body;
    return { path: `/users/${userId}/sign-in-links`, body: { validMinutes: 1_440 } };
  },
};
