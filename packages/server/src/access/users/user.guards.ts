/** What this slice contributes to the tests over all operations. */
import type { Place } from '../../../testing/place.ts';
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { createUser, userExamples } from './user.examples.ts';

/** The user of a place that stores a number. */
const countedPaths = new WeakMap<Place, string>();
/** Case does not matter. */
const inAnyCase = (name: string, turn: number) => (turn % 2 === 0 ? name : name.toUpperCase());

export const userGuards: SliceGuards = {
  examples: userExamples,
  uniqueNames: {
    createUser: ({ account }, name, turn) =>
      account.admin.post('/users', { userName: inAnyCase(name, turn) }),
    updateUser: async (place, name, turn) =>
      place.account.admin.patch(`/users/${await createUser(place)}`, { userName: inAnyCase(name, turn) }),
  },
  counted: {
    updateUser: {
      set: (count) => ({ displayName: `${count}` }),
      get: (body) => Number(body.displayName),
      create: async (place) => {
        const made = await place.account.admin.post<{ userId: string }>('/users', {
          userName: place.named('count'),
        });
        countedPaths.set(place, `/users/${made.body.userId}`);
        return made;
      },
      path: (place) => countedPaths.get(place) ?? '',
    },
  },
};
