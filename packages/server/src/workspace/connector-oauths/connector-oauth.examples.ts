/** A request that succeeds for each operation on OAuth configurations of connectors. */
import type { ConnectorOauth } from '@headgate/contract';
import type { Examples, Place } from '../../../testing/place.ts';

/** The place's project gets the secret references. */
export async function buildConnectorOauth(place: Place) {
  const { account, project, named } = place;
  const [clientSecretReference, tokenSecretReference] = [named('crm-client'), named('crm-tokens')];
  const references = `${project.path}/secret-references`;
  await account.admin.post(`${references}/${clientSecretReference}`, {
    type: 'OAUTH_CLIENT_CRED',
    secretName: 'crm/client',
  });
  await account.admin.post(`${references}/${tokenSecretReference}`, {
    type: 'OAUTH_AUTHORIZATION_CODE',
    secretName: tokenSecretReference,
  });
  return {
    name: named('crm'),
    grantType: 'AUTHORIZATION_CODE',
    authorizationUrl: 'https://login.example.com/oauth2/authorize',
    tokenUrl: 'https://login.example.com/oauth2/token',
    scopes: ['contacts.read', 'offline_access'],
    clientId: 'headgate-oslo',
    clientSecretReference,
    tokenSecretReference,
    additionalParameters: { audience: 'https://api.example.com' },
  };
}

export async function createConnectorOauth(place: Place) {
  const path = `${place.project.path}/connector-oauths`;
  const body = await buildConnectorOauth(place);
  const made = await place.account.admin.post<ConnectorOauth>(path, body);
  return { path: `${path}/${made.body.connectorOauthId}`, oauth: made.body };
}

export const connectorOauthExamples: Examples = {
  async listConnectorOauths(place) {
    await createConnectorOauth(place);
    return { path: `${place.project.path}/connector-oauths` };
  },
  createConnectorOauth: async (place) => ({
    path: `${place.project.path}/connector-oauths`,
    body: await buildConnectorOauth(place),
  }),
  async getConnectorOauth(place) {
    const { path } = await createConnectorOauth(place);
    return { path };
  },
  async updateConnectorOauth(place) {
    const path = `${place.project.path}/connector-oauths`;
    const body = await buildConnectorOauth(place);
    const made = await place.account.admin.post<ConnectorOauth>(path, body);
    return { path: `${path}/${made.body.connectorOauthId}`, body: { ...body, scopes: ['contacts.read'] } };
  },
  async deleteConnectorOauth(place) {
    const { path } = await createConnectorOauth(place);
    return { path };
  },
};
