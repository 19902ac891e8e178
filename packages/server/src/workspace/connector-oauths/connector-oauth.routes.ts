import {
  type ConnectorOauthBody,
  createConnectorOauth,
  deleteConnectorOauth,
  getConnectorOauth,
  listConnectorOauths,
  updateConnectorOauth,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
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
  renderConnectorOauthEtag,
  updateConnectorOauthRow,
} from './connector-oauth.store.ts';
import { isSameAuthorization, listMissing, refuse, requireValidOauth } from './connector-oauth.ts';

export function connectorOauthRoutes({ read, write }: Endpoints): void {
  read(listConnectorOauths, async ({ params, rows }) => {
    const found = await rows(connectorOauthsOfProject, {});
    return { body: found.map((row) => presentConnectorOauth(row, params.projectId)) };
  });

  read(getConnectorOauth, async ({ params, rows }) => {
    const { connectorOauthId: id, projectId } = params;
    const found = await rows(connectorOauthById, { connector_oauth_id: toUuid(id) });
    const row = requireRow(found, () => problem('connector-oauth-not-found', { id }));
    return { body: presentConnectorOauth(row, projectId), etag: renderConnectorOauthEtag(row) };
  });

  write(createConnectorOauth, async ({ tx, scope, params, body, now, newId }) => {
    const { projectId } = params;
    const row = createRow(
      body,
      { connector_oauth_id: newId(), created_by: scope.actorId, created_at: now },
      now,
    );
    await insertConnectorOauth(tx, scope, projectId, row);
    const after = presentConnectorOauth(row, projectId);
    return {
      body: after,
      etag: renderConnectorOauthEtag(row),
      location: `/v1/projects/${projectId}/connector-oauths/${row.connector_oauth_id}`,
      events: [buildEvent('connector-oauth-created', projectId, row, { after })],
    };
  });

  write(updateConnectorOauth, async ({ tx, scope, params, headers, body, now }) => {
    const { projectId, connectorOauthId } = params;
    const stored = await lockConnectorOauth(tx, scope, projectId, connectorOauthId);
    requireMatch(headers['If-Match'], renderConnectorOauthEtag(stored));
    requireSameName(stored, body);
    const written = createRow(body, stored, now);
    const keepsAuthorization = isSameAuthorization(stored, written);
    const { state, authorized_at, problem: reported } = stored;
    const row = keepsAuthorization ? { ...written, state, authorized_at, problem: reported } : written;
    await updateConnectorOauthRow(tx, scope, projectId, { row, keepsAuthorization });
    const before = presentConnectorOauth(stored, projectId);
    const after = presentConnectorOauth(row, projectId);
    return {
      body: after,
      etag: renderConnectorOauthEtag(row),
      events: [buildEvent('connector-oauth-updated', projectId, row, { before, after })],
    };
  });

  write(deleteConnectorOauth, async ({ tx, scope, params, headers, query }) => {
    const { projectId, connectorOauthId } = params;
    const row = await lockConnectorOauth(tx, scope, projectId, connectorOauthId);
    requireMatch(headers['If-Match'], renderConnectorOauthEtag(row));
    await deleteConnectorOauthRow(tx, scope, projectId, row, query.confirm);
    const before = presentConnectorOauth(row, projectId);
    return { events: [buildEvent('connector-oauth-deleted', projectId, row, { before })] };
  });
}

/** Throws `connector-oauth-invalid` and `unknown-agent`. */
function createRow(
  body: ConnectorOauthBody,
  identity: Pick<ConnectorOauthRow, 'connector_oauth_id' | 'created_by' | 'created_at'>,
  now: Date,
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
    connector_oauth_id: identity.connector_oauth_id,
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
    created_by: identity.created_by,
    created_at: identity.created_at,
  };
}

/** Profiles and pipelines name a configuration by it. */
function requireSameName({ name }: ConnectorOauthRow, body: ConnectorOauthBody): void {
  if (body.name === name) return;
  throw refuse(
    'body.name',
    `is ${JSON.stringify(body.name)}, and that of the configuration is ${JSON.stringify(name)}; it cannot be changed: create another configuration`,
  );
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
