/** A request that succeeds for each operation on enterprise OAuth connections. */
import type { Examples, Place } from '../../../testing/place.ts';

const buildConnection = ({ named }: Place) => ({
  name: named('DevOps of Acme'),
  provider: 'azure-devops',
  clientId: '5c1b1f0e-7f3a-4c58-9a5e-2f0f6b7d8e91',
  tenantId: 'acme.onmicrosoft.com',
  clientSecret: 'correct horse battery staple',
});

async function createConnection(place: Place): Promise<string> {
  const made = await place.account.admin.post<{ enterpriseOauthId: string }>(
    '/enterprise-oauths',
    buildConnection(place),
  );
  return made.body.enterpriseOauthId;
}

export const enterpriseOauthExamples: Examples = {
  async listEnterpriseOauths(place) {
    await createConnection(place);
    return { path: '/enterprise-oauths?page=0&size=1' };
  },
  createEnterpriseOauth: (place) => ({ path: '/enterprise-oauths', body: buildConnection(place) }),
  updateEnterpriseOauth: async (place) => ({
    path: `/enterprise-oauths/${await createConnection(place)}`,
    body: { projects: [place.project.projectId] },
  }),
  deleteEnterpriseOauth: async (place) => ({ path: `/enterprise-oauths/${await createConnection(place)}` }),
};
