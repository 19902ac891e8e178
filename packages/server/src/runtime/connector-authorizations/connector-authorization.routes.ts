/**
 * Starts an authorization, and serves the page to which the provider leads the browser. The page has no token:
 * the state decides, works once, and stands for the caller that began. An agent exchanges the code; the server
 * never sees a token.
 */
import { randomBytes } from 'node:crypto';
import { authorizeConnectorOauth } from '@headgate/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { addSeconds } from '../../kernel/clock.ts';
import type { EventSource } from '../../kernel/database/events.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints, Services } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { waitForEnd } from '../../kernel/work/awaited-end.ts';
import { enqueueWork } from '../../kernel/work/work.ts';
import {
  type ConnectorOauthRow,
  listMissing,
  lockConnectorOauth,
} from '../../workspace/connector-oauths/index.ts';
import {
  endAuthorization,
  findPendingAuthorization,
  type PendingAuthorization,
  readOutcome,
  storeAuthorization,
  takeAuthorization,
} from './connector-authorization.store.ts';
import {
  authorizationSeconds,
  buildAuthorizationUrl,
  callbackPath,
  createState,
  digestState,
  renderCallbackPage,
  sealGrant,
  unsealGrant,
} from './connector-authorization.ts';

export interface AuthorizationServices extends Services {
  config: { publicUrl: string };
  wakes: Wakes;
  secretWaitSeconds: number;
  stopping: AbortSignal;
}

/** How long an agent may take to claim the exchange: codes live for about a minute. */
const exchangeSeconds = 120;
const longestParameter = 4_096;

export function connectorAuthorizationRoutes(
  { app, write }: Endpoints,
  services: AuthorizationServices,
): void {
  write(authorizeConnectorOauth, async ({ tx, scope, params, now }) => {
    const { projectId, connectorOauthId } = params;
    const oauth = await lockConnectorOauth(tx, scope, projectId, connectorOauthId);
    requireAuthorizable(oauth);
    const state = createState();
    const redirectUri = services.config.publicUrl + callbackPath;
    const grant = { codeVerifier: randomBytes(32).toString('base64url'), redirectUri };
    const expiresAt = addSeconds(now, authorizationSeconds);
    storeAuthorization(tx, scope, {
      projectId,
      connectorOauthId: oauth.connector_oauth_id,
      stateDigest: digestState(services.sealer, state),
      sealedGrant: sealGrant(services.sealer, oauth.connector_oauth_id, grant),
      expiresAt,
    });
    const subject = { type: 'connector-oauth', id: oauth.connector_oauth_id, name: oauth.name };
    const after = { expiresAt: expiresAt.toISOString() };
    return {
      body: {
        authorizationUrl: buildAuthorizationUrl(oauth, { state, grant }),
        redirectUri,
        expiresAt: expiresAt.toISOString(),
      },
      events: [{ name: 'connector-authorization-requested', projectId, subject, after }],
    };
  });

  app.get(callbackPath, async (request, reply) => {
    const page = await serveCallback(services, request);
    return sendPage(reply, page);
  });
}

/** Throws `connector-oauth-invalid` and `connector-oauth-pending`. */
function requireAuthorizable(oauth: ConnectorOauthRow): void {
  if (oauth.grant_type !== 'AUTHORIZATION_CODE')
    throw problem('connector-oauth-invalid', {
      field: 'grantType',
      reason: `is ${oauth.grant_type}, which needs no authorization by a person: use the configuration as it is`,
    });
  const missing = listMissing({
    grantType: oauth.grant_type,
    clientId: oauth.client_id,
    clientSecretReference: oauth.client_secret_reference,
    tokenSecretReference: oauth.token_secret_reference,
  });
  if (missing.length > 0)
    throw problem('connector-oauth-pending', {
      name: oauth.name,
      reason: `it has no ${missing.join(' and no ')}; replace it by one that has`,
    });
}

interface Page {
  status: number;
  title: string;
  text: string;
}

const createRefusalPage = (text: string, status = 400): Page => ({ status, title: 'Not authorized', text });
const voidLink = createRefusalPage(
  'This address is not valid: it was used, has expired, or was replaced by another one. Start the authorization again.',
);

function sendPage(reply: FastifyReply, { status, title, text }: Page) {
  return reply
    .code(status)
    .header('content-type', 'text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'no-referrer')
    .header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
    .send(renderCallbackPage(title, text));
}

/** A parameter that is there once. */
function readParameter(request: FastifyRequest, name: string): string | undefined {
  const value = (request.query as Record<string, unknown>)[name];
  return typeof value === 'string' && value !== '' && value.length <= longestParameter ? value : undefined;
}

async function serveCallback(services: AuthorizationServices, request: FastifyRequest): Promise<Page> {
  const state = readParameter(request, 'state');
  if (state === undefined) return voidLink;
  const stateDigest = digestState(services.sealer, state);
  const now = services.clock.now();
  const pending = await findPendingAuthorization(services.database.read, stateDigest, now);
  if (pending === undefined) return voidLink;
  const fault = findFault(pending, request);
  if (fault !== undefined) {
    await services.database.transaction(async (tx) => {
      const moment = { tx, source: createSource(pending, request), now, newId: services.newId };
      endAuthorization(moment, { stateDigest }, fault);
    });
    return createRefusalPage(fault, pending.standing === 'permitted' ? 400 : 403);
  }
  const code = readParameter(request, 'code') ?? '';
  return exchange(services, { pending, stateDigest, code, now });
}

/** A browser has no account here: the system acts for the caller that began. */
const createSource = (
  { account_id: accountId }: PendingAuthorization,
  request: FastifyRequest,
): EventSource => ({
  accountId,
  actorId: null,
  actorKind: 'system',
  requestId: request.id,
});

/** Why the code cannot be exchanged, in a sentence. */
function findFault(
  { standing, agent_id: agentId }: PendingAuthorization,
  request: FastifyRequest,
): string | undefined {
  if (standing !== 'permitted')
    return 'The caller that started this authorization no longer has permission to configure the project.';
  const error = readParameter(request, 'error');
  if (error !== undefined || readParameter(request, 'code') === undefined) {
    // Of the provider, and so of anyone: only its shape of a word is shown (RFC 6749, section 4.1.2.1).
    const word = /^[a-z_]{1,60}$/.exec(error ?? '')?.[0];
    return `The provider did not give access${word === undefined ? '' : ` (${word})`}. Start the authorization again, and allow access.`;
  }
  if (agentId === null)
    return 'The account has several agents or none, and none of them is set to exchange the code. Give the OAuth configuration an agentId.';
  return undefined;
}

interface Exchange {
  pending: PendingAuthorization;
  stateDigest: Buffer;
  code: string;
  now: Date;
}

async function exchange(
  services: AuthorizationServices,
  { pending, stateDigest, code, now }: Exchange,
): Promise<Page> {
  const { sealer, newId, database, wakes, secretWaitSeconds } = services;
  const { account_id: accountId, connector_oauth_id: id, name, agent_id: agentId } = pending;
  if (agentId === null) return voidLink;
  const workId = newId();
  const until = addSeconds(now, exchangeSeconds);
  const grant = { ...unsealGrant(sealer, id, pending.sealed_grant), code };
  const isFirst = await database.transaction(async (tx) => {
    const sealedGrant = sealGrant(sealer, id, grant);
    // Longer than any exchange, whose end deletes the row.
    const expiresAt = addSeconds(now, 86_400);
    if (!(await takeAuthorization(tx, { stateDigest, sealedGrant, workId, expiresAt, now }))) return false;
    const { project_id } = pending;
    const place = { account_id: accountId, project_id, environment_name: null, agent_id: agentId };
    const work = { ...place, work_id: workId, kind: 'connector-authorization', name };
    enqueueWork(tx, work, now, { claimableUntil: until });
    tx.afterCommit(() => wakes.wake(agentId, 'all'));
    return true;
  });
  if (!isFirst) return voidLink;
  const final = await waitForEnd(services, secretWaitSeconds, workId, async () => {
    const outcome = await readOutcome(database.read, pending, workId);
    return outcome?.waits === true ? { waitsFor: workId } : { ended: outcome ?? null };
  });
  if (final === undefined)
    return {
      status: 202,
      title: 'Not finished yet',
      text: `The agent has not answered yet. The state of the OAuth configuration ${JSON.stringify(name)} shows when it has.`,
    };
  if (final === null) return createRefusalPage('The OAuth configuration was deleted.', 404);
  if (final.problem !== null) return createRefusalPage(final.problem, 502);
  if (!final.is_authorized)
    return createRefusalPage(
      'The OAuth configuration was changed meanwhile. Start the authorization again.',
      409,
    );
  return {
    status: 200,
    title: 'Authorized',
    text: `The OAuth configuration ${JSON.stringify(name)} is authorized. You can close this page.`,
  };
}
