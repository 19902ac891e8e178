/** A request that succeeds for each operation on identity issuers. */
import type { Examples, Place } from '../../../testing/place.ts';

export const buildIssuer = ({ named }: Place) => ({
  name: named('Acme'),
  issuer: `https://login.example.com/${named('acme')}`,
  clientId: 'headgate',
  userClaim: 'preferred_username',
  domains: ['example.com'],
  groupsClaim: 'groups',
  clientSecret: 'correct horse battery staple',
});

async function createIssuer(place: Place): Promise<string> {
  const made = await place.account.admin.post<{ identityIssuerId: string }>(
    '/identity-issuers',
    buildIssuer(place),
  );
  return `/identity-issuers/${made.body.identityIssuerId}`;
}

/** An account has 20 at most, and the examples are sent many times. */
async function ensureIssuer(place: Place): Promise<string> {
  const { results } = (
    await place.account.admin.get<{ results: { identityIssuerId: string }[] }>('/identity-issuers')
  ).body;
  const [first] = results;
  return first === undefined ? createIssuer(place) : `/identity-issuers/${first.identityIssuerId}`;
}

async function deleteAll({ account: { admin } }: Place): Promise<void> {
  const { results } = (
    await admin.get<{ results: { identityIssuerId: string }[] }>('/identity-issuers?size=100')
  ).body;
  for (const { identityIssuerId } of results) await admin.delete(`/identity-issuers/${identityIssuerId}`);
}

export const identityIssuerExamples: Examples = {
  async listIdentityIssuers(place) {
    await ensureIssuer(place);
    return { path: '/identity-issuers?page=0&size=10' };
  },
  async createIdentityIssuer(place) {
    await deleteAll(place);
    return { path: '/identity-issuers', body: buildIssuer(place) };
  },
  getIdentityIssuer: async (place) => ({ path: await ensureIssuer(place) }),
  updateIdentityIssuer: async (place) => ({ path: await ensureIssuer(place), body: buildIssuer(place) }),
  deleteIdentityIssuer: async (place) => ({ path: await ensureIssuer(place) }),
  testIdentityIssuer: async (place) => ({ path: `${await ensureIssuer(place)}/test` }),
};
