/** A successful test of an endpoint of each kind of profile. */
import { connectorTestResult, createConnectorAgent } from '../../../testing/connector-agent.ts';
import type { Examples, Place } from '../../../testing/place.ts';
import { createConnectorProfile } from '../../workspace/connector-profiles/connector-profile.examples.ts';

async function buildTest(place: Place, kind: 'flex' | 'custom') {
  const { account, project, named } = place;
  const secretName = named('shop-token');
  await account.admin.post(`${project.path}/secret-references/${secretName}`, {
    type: 'PASSWORD',
    secretName: 'shop/token',
  });
  const { path } = await createConnectorProfile(place, kind);
  const agent = await createConnectorAgent(account, { name: named('oslo-2') });
  // The agent responds while the request waits, or not at all if the request is refused.
  void agent.answerTest(connectorTestResult).catch(() => undefined);
  return {
    path: `${path}/test`,
    body: {
      projectId: project.projectId,
      environmentName: 'dev',
      endpointId: 'orders',
      agentId: agent.agentId,
      parameters: { uriParameters: { shop: 'oslo' } },
      connection: { token: { secretName } },
    },
  };
}

export const connectorTestExamples: Examples = {
  testFlexConnector: (place) => buildTest(place, 'flex'),
  testCustomConnector: (place) => buildTest(place, 'custom'),
};
