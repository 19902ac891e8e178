/** A request that succeeds for each operation on custom roles. */
import type { Examples, Place } from '../../../testing/place.ts';

const buildRole = (name: string) => ({
  name,
  description: 'Runs and delivers, but does not configure',
  level: 'PROJECT',
  permissions: ['environment:run', 'environment:deliver'],
});

async function deleteAll({ account: { admin } }: Place): Promise<void> {
  const { results } = (await admin.get<{ results: { name: string }[] }>('/custom-roles?size=100')).body;
  for (const { name } of results) await admin.delete(`/custom-roles/${name}`);
}

/** An account has 100 at most, and the examples are sent many times. */
async function createRole(place: Place): Promise<string> {
  await deleteAll(place);
  await place.account.admin.post('/custom-roles', buildRole('RELEASE_MANAGER'));
  return '/custom-roles/RELEASE_MANAGER';
}

export const customRoleExamples: Examples = {
  async listCustomRoles(place) {
    await createRole(place);
    return { path: '/custom-roles?page=0&size=10' };
  },
  async createCustomRole(place) {
    await deleteAll(place);
    return { path: '/custom-roles', body: buildRole('RELEASE_MANAGER') };
  },
  getCustomRole: async (place) => ({ path: await createRole(place) }),
  updateCustomRole: async (place) => ({
    path: await createRole(place),
    body: { description: 'Only runs', permissions: ['environment:run'] },
  }),
  deleteCustomRole: async (place) => ({ path: await createRole(place) }),
};
