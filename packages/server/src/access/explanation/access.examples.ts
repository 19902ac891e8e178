/** A request that succeeds for each operation of the explanation. */
import type { Examples } from '../../../testing/place.ts';

export const accessExamples: Examples = {
  getMe: () => ({ path: '/me' }),
  explainAccess: ({ account, project }) => ({
    path: `${project.path}/access/explain?principalId=${account.admin.actorId}&operation=createVariable`,
  }),
  listAccessReviews: async ({ account, project, named }) => {
    const user = { userName: `${named('grace')}@example.com` };
    const { userId } = (await account.admin.post<{ userId: string }>('/users', user)).body;
    const group = { displayName: named('Owners'), role: 'OWNER', projectId: project.projectId };
    const { groupId } = (await account.admin.post<{ groupId: string }>('/groups', group)).body;
    const reason = 'stands in for Bob';
    await account.admin.post(`/groups/${groupId}/members`, { userIds: [userId], reason });
    return { path: `/access/reviews?principalId=${userId}` };
  },
  async getProjectAccess({ account, project, named }) {
    const user = { userName: `${named('ada')}@example.com` };
    const { userId } = (await account.admin.post<{ userId: string }>('/users', user)).body;
    const group = { displayName: named('Viewers'), role: 'VIEWER', projectId: project.projectId };
    const { groupId } = (await account.admin.post<{ groupId: string }>('/groups', group)).body;
    await account.admin.post(`/groups/${groupId}/members`, { userIds: [userId] });
    return { path: `${project.path}/access?permission=project:read` };
  },
};
