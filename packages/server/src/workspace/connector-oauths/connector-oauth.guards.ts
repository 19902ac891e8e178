/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { connectorOauthExamples } from './connector-oauth.examples.ts';

export const connectorOauthGuards: SliceGuards = {
  examples: connectorOauthExamples,
  uniqueNames: {
    createConnectorOauth: ({ account, project }, name) =>
      account.admin.post(`${project.path}/connector-oauths`, {
        name,
        grantType: 'CLIENT_CREDENTIALS',
        tokenUrl: 'https://login.example.com/token',
      }),
  },
};
