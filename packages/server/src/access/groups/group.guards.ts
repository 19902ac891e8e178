/** What this slice contributes to the tests over all operations. */
import type { Place } from '../../../testing/place.ts';
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { createGroup, groupExamples } from './group.examples.ts';

/** The group of a place that stores a number. */
const countedPaths = new WeakMap<Place, string>();
/** Case does not matter. */
const inAnyCase = (name: string, turn: number) => (turn % 2 === 0 ? name : name.toUpperCase());

export const groupGuards: SliceGuards = {
  examples: groupExamples,
  uniqueNames: {
    createGroup: ({ account }, name, turn) =>
      account.admin.post('/groups', { displayName: inAnyCase(name, turn) }),
    updateGroup: async (place, name, turn) =>
      place.account.admin.patch(`/groups/${await createGroup(place)}`, {
        displayName: inAnyCase(name, turn),
      }),
  },
  counted: {
    updateGroup: {
      set: (count) => ({ externalId: `${count}` }),
      get: (body) => Number(body.externalId),
      create: async (place) => {
        const made = await place.account.admin.post<{ groupId: string }>('/groups', {
          displayName: place.named('count'),
        });
        countedPaths.set(place, `/groups/${made.body.groupId}`);
        return made;
      },
      path: (place) => countedPaths.get(place) ?? '',
    },
  },
};
