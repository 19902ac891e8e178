/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { enterpriseOauthExamples } from './enterprise-oauth.examples.ts';

export const enterpriseOauthGuards: SliceGuards = {
  examples: enterpriseOauthExamples,
  uniqueNames: {
    createEnterpriseOauth: ({ account }, name) =>
      account.admin.post('/enterprise-oauths', {
        name,
        provider: 'azure-devops',
        clientId: 'a',
        clientSecret: 'b',
        tenantId: 'c',
      }),
  },
};
