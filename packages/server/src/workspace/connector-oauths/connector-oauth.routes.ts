import {
  type ConnectorOauthBody,
  createConnectorOauth,
  deleteConnectorOauth,
  getConnectorOauth,
  listConnectorOauths,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { isUuid, toUuid } from '../../kernel/identifiers.ts';
import {
  type ConnectorOauthRow,
  connectorOauthById,
  connectorOauthsOfProject,
  deleteConnectorOauthRow,
  insertConnectorOauth,
  lockConnectorOauth,
  presentConnectorOauth,
} from './connector-oauth.store.ts';
import { listMissing, requireValidOauth } from './connector-oauth.ts';

export function connectorOauthRoutes({ read, write }: Endpoints): void {
  read(listConnectorOauths, async ({ params, rows }) => {
    const found = await rows(connectorOauthsOfProject, {});
    return { body: found.map((row) => presentConnectorOauth(row, params.projectId)) };
  });

  read(getConnectorOauth, async ({ params, rows }) => {
    const { connectorOauthId: id, projectId } = params;
    const found = await rows(connectorOauthById, { connector_oauth_id: toUuid(id) });
    const row = requireRow(found, () => problem('connector-oauth-not-found', { id }));
    return { body: presentConnectorOauth(row, projectId) };
  });

  write(createConnectorOauth, async ({ tx, scope, params, body, now, newId }) => {
    const { projectId } = params;
    const row = createRow(body, { id: newId(), createdBy: scope.actorId, now });
    await insertConnectorOauth(tx, scope, projectId, row);
    const after = presentConnectorOauth(row, projectId);
    return {
      body: after,
      location: `/v1/projects/${projectId}/connector-oauths/${row.connector_oauth_id}`,
      events: [buildEvent('connector-oauth-created', projectId, row, { after })],
    };
  });

  write(deleteConnectorOauth, async ({ tx, scope, params, query }) => {
    const { projectId, connectorOauthId } = params;
    const row = await lockConnectorOauth(tx, scope, projectId, connectorOauthId);
    await deleteConnectorOauthRow(tx, scope, projectId, row, query.confirm);
    const before = presentConnectorOauth(row, projectId);
    return { events: [buildEvent('connector-oauth-deleted', projectId, row, { before })] };
  });
}

/** Throws `connector-oauth-invalid` and `unknown-agent`. */
function createRow(
  body: ConnectorOauthBody,
  { id, createdBy, now }: { id: string; createdBy: string; now: Date },
): ConnectorOauthRow {
  const grantType = requireValidOauth(body);
  const { agentId } = body;
  if (agentId !== undefined && !isUuid(agentId)) throw problem('unknown-agent', { id: agentId });
  const members = {
    clientId: body.clientId ?? null,
    clientSecretReference: body.clientSecretReference ?? null,
    tokenSecretReference: body.tokenSecretReference ?? null,
  };
  const isReady = grantType === 'CLIENT_CREDENTIALS' && listMissing({ grantType, ...members }).length === 0;
  return {
    connector_oauth_id: id,
    name: body.name,
    grant_type: grantType,
    authorization_url: body.authorizationUrl ?? null,
    token_url: body.tokenUrl,
    scopes: body.scopes ?? [],
    client_id: members.clientId,
    client_secret_reference: members.clientSecretReference,
    token_secret_reference: members.tokenSecretReference,
    agent_id: agentId ?? null,
    additional_parameters: body.additionalParameters ?? null,
    state: isReady ? 'AUTHORIZED' : 'PENDING',
    authorized_at: isReady ? now : null,
    problem: null,
    created_by: createdBy,
    created_at: now,
  };
}

function buildEvent(
  name: AccountEvent['name'],
  projectId: string,
  row: ConnectorOauthRow,
  states: { before?: object; after?: object },
): AccountEvent {
  const subject = { type: 'connector-oauth', id: row.connector_oauth_id, name: row.name };
  return { name, projectId, subject, ...states };
}
