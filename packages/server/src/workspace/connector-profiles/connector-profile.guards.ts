/** What the tests over all operations need from this slice. */
import type { ConnectorProfile } from '@headgate/contract';
import type { NameClaim, SliceGuards } from '../../../testing/slice-guards.ts';
import { buildConnectorProfile, connectorProfileExamples } from './connector-profile.examples.ts';

const claimByCreation =
  (path: string): NameClaim =>
  ({ account }, name) =>
    account.admin.post(path, buildConnectorProfile(name));

const claimByReplacement =
  (path: string): NameClaim =>
  async ({ account, named }, name) => {
    const { body } = await account.admin.post<ConnectorProfile>(path, buildConnectorProfile(named('Shop')));
    return account.admin.send('PUT', `${path}/${body.id}`, { body: buildConnectorProfile(name) });
  };

export const connectorProfileGuards: SliceGuards = {
  examples: connectorProfileExamples,
  uniqueNames: {
    createFlexConnector: claimByCreation('/flex-connectors'),
    updateFlexConnector: claimByReplacement('/flex-connectors'),
    createCustomConnector: claimByCreation('/custom-connectors'),
    updateCustomConnector: claimByReplacement('/custom-connectors'),
  },
};
