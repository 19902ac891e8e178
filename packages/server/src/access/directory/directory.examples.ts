/** A request that succeeds for each operation of the directory. */
import { scimUrns } from '@headgate/contract';
import type { Examples, Place } from '../../../testing/place.ts';

export const scimPath = '/directory-integration/scim/v2';

const buildUser = ({ named }: Place) => ({
  schemas: [scimUrns.user],
  userName: named('ada@example.com'),
  name: { givenName: 'Ada', familyName: 'Lovelace' },
  displayName: 'Ada Lovelace',
  emails: [{ value: 'ada@example.com', type: 'work', primary: true }],
  active: true,
});

async function createUser(place: Place): Promise<string> {
  const made = await place.account.admin.post<{ id: string }>(`${scimPath}/Users`, buildUser(place));
  return made.body.id;
}

/** Without a role, which a Directory credential cannot set. */
const buildGroup = ({ named }: Place) => ({
  schemas: [scimUrns.group],
  displayName: named('Operators'),
  externalId: 'c2f1a3d0',
});

async function createGroup(place: Place): Promise<string> {
  const made = await place.account.admin.post<{ id: string }>(`${scimPath}/Groups`, buildGroup(place));
  return made.body.id;
}

const patch = (...Operations: object[]) => ({ schemas: [scimUrns.patch], Operations });
const search = { schemas: [scimUrns.search], filter: 'displayName sw "A"', startIndex: 1, count: 10 };

export const directoryExamples: Examples = {
  async listScimUsers(place) {
    await createUser(place);
    return { path: `${scimPath}/Users?startIndex=1&count=1` };
  },
  async searchScimUsers(place) {
    await createUser(place);
    return { path: `${scimPath}/Users/.search`, body: { ...search, count: 1 } };
  },
  createScimUser: (place) => ({ path: `${scimPath}/Users`, body: buildUser(place) }),
  async getScimUser(place) {
    return { path: `${scimPath}/Users/${await createUser(place)}` };
  },
  async replaceScimUser(place) {
    return {
      path: `${scimPath}/Users/${await createUser(place)}`,
      body: { ...buildUser(place), title: 'Analyst' },
    };
  },
  async patchScimUser(place) {
    const body = patch({ op: 'replace', path: 'active', value: false });
    return { path: `${scimPath}/Users/${await createUser(place)}`, body };
  },
  async deleteScimUser(place) {
    return { path: `${scimPath}/Users/${await createUser(place)}` };
  },
  getScimMe: () => ({ path: `${scimPath}/Me` }),
  async listScimGroups(place) {
    await createGroup(place);
    return { path: `${scimPath}/Groups?startIndex=1&count=1` };
  },
  async searchScimGroups(place) {
    await createGroup(place);
    return {
      path: `${scimPath}/Groups/.search`,
      body: { ...search, filter: 'displayName sw "Op"', count: 1 },
    };
  },
  createScimGroup: (place) => ({ path: `${scimPath}/Groups`, body: buildGroup(place) }),
  async getScimGroup(place) {
    return { path: `${scimPath}/Groups/${await createGroup(place)}` };
  },
  async replaceScimGroup(place) {
    const members = [{ value: await createUser(place) }];
    return {
      path: `${scimPath}/Groups/${await createGroup(place)}?excludedAttributes=members`,
      body: { ...buildGroup(place), members },
    };
  },
  async patchScimGroup(place) {
    const value = [{ value: await createUser(place) }];
    return {
      path: `${scimPath}/Groups/${await createGroup(place)}?excludedAttributes=members`,
      body: patch({ op: 'add', path: 'members', value }),
    };
  },
  async deleteScimGroup(place) {
    return { path: `${scimPath}/Groups/${await createGroup(place)}` };
  },
  getScimServiceProviderConfig: () => ({ path: `${scimPath}/ServiceProviderConfig` }),
  listScimResourceTypes: () => ({ path: `${scimPath}/ResourceTypes` }),
  getScimResourceType: () => ({ path: `${scimPath}/ResourceTypes/User` }),
  listScimSchemas: () => ({ path: `${scimPath}/Schemas` }),
  getScimSchema: () => ({ path: `${scimPath}/Schemas/${scimUrns.group}` }),
  searchScim: () => ({ path: `${scimPath}/.search`, body: search }),
  bulkScim: (place) => ({
    path: `${scimPath}/Bulk`,
    body: {
      schemas: [scimUrns.bulkRequest],
      Operations: [
        { method: 'POST', path: '/Users', bulkId: 'ada', data: buildUser(place) },
        {
          method: 'POST',
          path: '/Groups',
          bulkId: 'operators',
          data: { ...buildGroup(place), members: [{ value: 'bulkId:ada' }] },
        },
      ],
    },
  }),
  getDirectorySettings: () => ({ path: '/directory-integration/settings' }),
  updateDirectorySettings: () => ({
    path: '/directory-integration/settings',
    body: { protectRoleGroups: true },
  }),
};
