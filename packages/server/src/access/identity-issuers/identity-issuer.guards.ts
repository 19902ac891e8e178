/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { identityIssuerExamples } from './identity-issuer.examples.ts';

export const identityIssuerGuards: SliceGuards = {
  examples: identityIssuerExamples,
  uniqueNames: {
    createIdentityIssuer: ({ account }, name, turn) =>
      account.admin.post('/identity-issuers', {
        name,
        issuer: `https://login.example.com/${turn}`,
        clientId: 'headgate',
      }),
    updateIdentityIssuer: async (place, name, turn) => {
      const body = { name, issuer: `https://login.example.com/${turn}`, clientId: 'headgate' };
      const made = await place.account.admin.post<{ identityIssuerId: string }>('/identity-issuers', {
        ...body,
        name: place.named('before'),
        issuer: `https://login.example.com/${place.named('before')}`,
      });
      return place.account.admin.send('PUT', `/identity-issuers/${made.body.identityIssuerId}`, { body });
    },
  },
};
