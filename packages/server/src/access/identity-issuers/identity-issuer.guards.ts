/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { identityIssuerExamples } from './identity-issuer.examples.ts';

export const identityIssuerGuards: SliceGuards = {
  examples: identityIssuerExamples,
  permissions: {
    'settings of the directory': [
      'listIdentityIssuers',
      'createIdentityIssuer',
      'getIdentityIssuer',
      'updateIdentityIssuer',
      'deleteIdentityIssuer',
      'testIdentityIssuer',
    ],
  },
  uniqueNames: {
    createIdentityIssuer: ({ account }, name, turn) =>
      account.admin.post('/identity-issuers', {
        name,
        issuer: `https://login.example.com/${turn}`,
        clientId: 'headgate',
      }),
  },
};
