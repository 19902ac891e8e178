/** What this slice contributes to the tests over all operations. */

import type { Place } from '../../../testing/place.ts';
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { directoryExamples, scimPath } from './directory.examples.ts';

/** Creates a resource with a name of its own, and then gives it the wanted name. */
async function rename(
  { account: { admin } }: Place,
  [endpoint, attribute]: readonly [endpoint: string, attribute: string],
  turn: number,
  { name, method }: { name: string; method: 'PUT' | 'PATCH' },
) {
  const made = await admin.post<{ id: string }>(`${scimPath}/${endpoint}`, {
    [attribute]: `${name} ${turn}`,
  });
  const body =
    method === 'PUT'
      ? { [attribute]: name }
      : { Operations: [{ op: 'replace', path: attribute, value: name }] };
  return admin.send(method, `${scimPath}/${endpoint}/${made.body.id}`, { body });
}

const users = ['Users', 'userName'] as const;
const groups = ['Groups', 'displayName'] as const;

export const directoryGuards: SliceGuards = {
  examples: directoryExamples,
  uniqueNames: {
    createScimUser: ({ account }, name) => account.admin.post(`${scimPath}/Users`, { userName: name }),
    replaceScimUser: (place, name, turn) => rename(place, users, turn, { name, method: 'PUT' }),
    patchScimUser: (place, name, turn) => rename(place, users, turn, { name, method: 'PATCH' }),
    createScimGroup: ({ account }, name) => account.admin.post(`${scimPath}/Groups`, { displayName: name }),
    replaceScimGroup: (place, name, turn) => rename(place, groups, turn, { name, method: 'PUT' }),
    patchScimGroup: (place, name, turn) => rename(place, groups, turn, { name, method: 'PATCH' }),
  },
  countedElsewhere: {
    patchScimUser: 'access/directory/concurrent-changes.test.ts',
    patchScimGroup: 'access/directory/concurrent-changes.test.ts',
  },
};
