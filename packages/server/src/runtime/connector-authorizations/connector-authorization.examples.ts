/** A request that succeeds for the start of an authorization, and for the messages about OAuth configurations. */
import type { ConnectorOauth } from '@headgate/contract';
import { claimOne, instanceId } from '../../../testing/executions.ts';
import type { Examples, Place } from '../../../testing/place.ts';
import {
  buildConnectorOauth,
  createConnectorOauth,
} from '../../workspace/connector-oauths/connector-oauth.examples.ts';

export const connectorAuthorizationExamples: Examples = {
  async authorizeConnectorOauth(place) {
    const { path } = await createConnectorOauth(place);
    return { path: `${path}/authorization` };
  },
};

/** One that needs no person. */
async function createReadyOauth(place: Place): Promise<ConnectorOauth> {
  const body = { ...(await buildConnectorOauth(place)), grantType: 'CLIENT_CREDENTIALS' };
  return (await place.account.admin.post<ConnectorOauth>(`${place.project.path}/connector-oauths`, body))
    .body;
}

/** Messages of the agent protocol. */
export const connectorAuthorizationMessageExamples: Examples = {
  async agentConnectorOauth(place) {
    const { work } = await claimOne(place);
    const { name } = await createReadyOauth(place);
    return { path: '/connector-oauths', body: { instanceId, workId: work.workId, epoch: work.epoch, name } };
  },
  async agentConnectorOauthProblem(place) {
    const { work } = await claimOne(place);
    const { connectorOauthId } = await createReadyOauth(place);
    const holding = { instanceId, workId: work.workId, epoch: work.epoch };
    const problem = 'The provider has revoked the refresh token. Authorize the configuration again.';
    return { path: '/connector-oauth-problems', body: { ...holding, connectorOauthId, problem } };
  },
};
