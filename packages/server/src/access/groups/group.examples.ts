/** A request that succeeds for each operation on groups and their members. */
import type { Examples, Place } from '../../../testing/place.ts';

const buildGroup = ({ named, project }: Place) => ({
  displayName: named('Operators of prod'),
  role: 'OPERATOR',
  projectId: project.projectId,
  environmentName: 'prod',
});

/** Returns its id. */
export async function createGroup(place: Place): Promise<string> {
  const made = await place.account.admin.post<{ groupId: string }>('/groups', buildGroup(place));
  return made.body.groupId;
}

async function createUser({ account, named }: Place): Promise<string> {
  const user = { userName: `${named('ada')}@example.com`, displayName: 'Ada Lovelace' };
  return (await account.admin.post<{ userId: string }>('/users', user)).body.userId;
}

async function createMember(place: Place): Promise<{ groupId: string; userId: string }> {
  const [groupId, userId] = [await createGroup(place), await createUser(place)];
  await place.account.admin.post(`/groups/${groupId}/members`, { userIds: [userId] });
  return { groupId, userId };
}

export const groupExamples: Examples = {
  async listGroups(place) {
    await createGroup(place);
    return { path: '/groups?page=0&size=1' };
  },
  createGroup: (place) => ({ path: '/groups', body: buildGroup(place) }),
  getGroup: async (place) => ({ path: `/groups/${await createGroup(place)}` }),
  updateGroup: async (place) => ({ path: `/groups/${await createGroup(place)}`, body: { role: 'viewer' } }),
  deleteGroup: async (place) => ({ path: `/groups/${await createGroup(place)}` }),
  listGroupMembers: async (place) => ({ path: `/groups/${(await createMember(place)).groupId}/members` }),
  async addGroupMembers(place) {
    const [groupId, userId] = [await createGroup(place), await createUser(place)];
    return { path: `/groups/${groupId}/members`, body: { userIds: [userId] } };
  },
  async removeGroupMember(place) {
    const { groupId, userId } = await createMember(place);
    return { path: `/groups/${groupId}/members/${userId}` };
  },
  listUserGroups: async (place) => ({ path: `/users/${(await createMember(place)).userId}/groups` }),
};
