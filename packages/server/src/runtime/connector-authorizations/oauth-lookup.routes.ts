/** What an instance needs of an OAuth configuration of the project of its work. */
import { agentConnectorOauth, agentConnectorOauthProblem, type ConnectorOauthPlan } from '@headgate/contract';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints, Services } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { buildCoordinates } from '../../workspace/secret-references/index.ts';
import { type CallingAgent, createAgentEndpoints } from '../agent-link/index.ts';
import { unsealGrant } from './connector-authorization.ts';
import {
  type HeldWork,
  type LookedUpOauth,
  lookUpOauth,
  type NamedSecret,
  reportOauthProblem,
} from './oauth-lookup.store.ts';

export function connectorOauthLookupRoutes({ app }: Endpoints, services: Services & { wakes: Wakes }): void {
  const serve = createAgentEndpoints(app, services);
  serve(agentConnectorOauth, async ({ agent, body, reply }) => {
    const { name, ...held } = body;
    const found = await lookUpOauth(services.database.read, createHeld(agent, held), name);
    if (found === undefined) throw problem('work-not-held', { id: held.workId, epoch: held.epoch });
    // It may have a code.
    reply.header('cache-control', 'no-store');
    return buildPlan(found, name, agent.agentId, services.sealer);
  });

  serve(agentConnectorOauthProblem, async ({ agent, body, request, reply }) => {
    const { connectorOauthId: id, problem: reported, ...held } = body;
    const { accountId, agentId } = agent;
    const outcome = await services.database.transaction((tx) => {
      const source = { accountId, actorId: agentId, actorKind: 'agent' as const, requestId: request.id };
      const moment = { tx, source, now: services.clock.now(), newId: services.newId };
      return reportOauthProblem(moment, createHeld(agent, held), id, reported);
    });
    if (outcome === 'not-held') throw problem('work-not-held', { id: held.workId, epoch: held.epoch });
    if (outcome === 'not-found') throw problem('connector-oauth-not-found', { id });
    return reply.send();
  });
}

function createHeld(
  { accountId, agentId }: CallingAgent,
  { workId, epoch, instanceId }: { workId: string; epoch: number; instanceId: string },
): HeldWork {
  return { account_id: accountId, agent_id: agentId, work_id: workId, epoch, instance_id: instanceId };
}

/** Throws `connector-oauth-not-found`, `connector-oauth-pending` and `secret-reference-of-another-agent`. */
function buildPlan(found: LookedUpOauth, name: string, agentId: string, sealer: Sealer): ConnectorOauthPlan {
  const { oauth, sealed_grant: sealed, client_secret: client, tokens } = found;
  if (oauth === null) throw problem('connector-oauth-not-found', { id: name });
  if (oauth.state === 'PENDING' && sealed === null)
    throw problem('connector-oauth-pending', { name, reason: 'authorize it before it is used' });
  const { code, ...grant } =
    sealed === null ? { code: undefined } : unsealGrant(sealer, oauth.connectorOauthId, sealed);
  const clientSecret = readCoordinates(client, agentId);
  const stored = readCoordinates(tokens, agentId);
  return {
    connectorOauthId: oauth.connectorOauthId,
    projectId: oauth.projectId,
    name,
    grantType: oauth.grantType,
    tokenUrl: oauth.tokenUrl,
    scopes: oauth.scopes,
    additionalParameters: oauth.additionalParameters ?? {},
    ...(oauth.authorizedAt === null ? {} : { authorizedAt: new Date(oauth.authorizedAt).toISOString() }),
    ...(oauth.problem === null ? {} : { problem: oauth.problem }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(stored === undefined ? {} : { tokens: stored }),
    ...(code === undefined || !('codeVerifier' in grant) ? {} : { grant: { ...grant, code } }),
  };
}

/** Throws `secret-reference-of-another-agent` and `vault-name-not-granted-to-run`. */
function readCoordinates(secret: NamedSecret | null, agentId: string) {
  if (secret === null) return undefined;
  const { name, agent_id: of, agent_name: agent } = secret;
  if (of !== null && of !== agentId)
    throw problem('secret-reference-of-another-agent', { name, agent: agent ?? of });
  if (!secret.is_granted)
    throw problem('vault-name-not-granted-to-run', { name, secretName: secret.secretName });
  return buildCoordinates(secret);
}
