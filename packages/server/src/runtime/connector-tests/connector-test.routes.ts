/** Tests one endpoint of a profile through an agent. The request waits for the agent. */
import {
  type ConnectorKind,
  type ConnectorTestResult,
  testCustomConnector,
  testFlexConnector,
} from '@headgate/contract';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints, LongCall, Services } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { isUuid, toUuid } from '../../kernel/identifiers.ts';
import { explainForbidden } from '../../kernel/security/guard.ts';
import { type AgentAnswer, askAgent, waitForAnswer } from '../../kernel/work/agent-request.ts';
import { findTestedEndpoint, requireTestAgent, type TestedEndpoint } from './connector-test.ts';
import { namedByConnection, testedProfile, testPlace } from './connector-test-place.store.ts';

export interface ConnectorTestServices extends Services {
  wakes: Wakes;
  /** How long a request waits for the agent. */
  secretWaitSeconds: number;
  stopping: AbortSignal;
}

/** Longer than an Idempotency-Key is valid. */
const keptHours = 48;

type TestCall = LongCall<typeof testFlexConnector | typeof testCustomConnector>;

export function connectorTestRoutes({ long }: Endpoints, services: ConnectorTestServices): void {
  long(testFlexConnector, (call) => testEndpoint('flex', call, services));
  long(testCustomConnector, (call) => testEndpoint('custom', call, services));
}

async function testEndpoint(kind: ConnectorKind, call: TestCall, services: ConnectorTestServices) {
  const profile = await readTestedProfile(kind, call, services);
  const earlier = await call.awaited.findEarlier();
  const begun = earlier ?? (await begin(kind, call, services, profile));
  if ('answer' in begun) return begun.answer;
  const { workId } = begun.pending;
  const seconds = services.secretWaitSeconds;
  const place = { accountId: call.scope.accountId, projectId: call.body.projectId };
  const outcome = await waitForAnswer(services, seconds, workId, place);
  if (outcome === undefined) throw problem('connector-test-timeout', { profileName: profile.name, seconds });
  const result = readResult(outcome);
  if ('refusal' in result) {
    await call.awaited.giveUp(workId);
    throw result.refusal;
  }
  return call.awaited.finish(workId, { body: result.body });
}

/** Throws `forbidden` and `connector-profile-not-found`. */
async function readTestedProfile(
  kind: ConnectorKind,
  { rows, params, scope }: TestCall,
  { database }: ConnectorTestServices,
): Promise<{ name: string; text: string }> {
  const { connectorProfileId: id } = params;
  const [row] = await rows(testedProfile, { kind, profile_id: toUuid(id) });
  if (row?.may_read !== true)
    throw await explainForbidden(database.read, scope, testFlexConnector.alsoRequires, {
      projectId: null,
      environmentName: null,
    });
  if (row.name === null || row.profile === null) throw problem('connector-profile-not-found', { id, kind });
  return { name: row.name, text: row.profile };
}

async function begin(
  kind: ConnectorKind,
  call: TestCall,
  services: ConnectorTestServices,
  profile: { name: string; text: string },
) {
  const { body, scope, now } = call;
  const { projectId, environmentName, parameters = {}, connection = {} } = body;
  const tested = findTestedEndpoint(profile.text, body);
  await requireNamed(call, tested);
  const { agentId } = await readAgent(call);
  const workId = call.newId();
  const until = new Date(now.getTime() + services.secretWaitSeconds * 1_000);
  const { accountId } = scope;
  return call.awaited.begin({ workId, until }, (tx) => {
    const { endpoint } = tested;
    const place = { projectId, environmentName, connectorKind: kind };
    // The rest is for the way to the agent and back.
    const timeoutSeconds = Math.max(1, Math.floor(services.secretWaitSeconds * 0.8));
    const apiCall = { endpoint, parameters, connection, timeoutSeconds };
    const request = { ...place, profileName: profile.name, ...apiCall };
    const agentRequest = {
      accountId,
      requestId: workId,
      agentId,
      kind: 'connector-test',
      projectId,
      environmentName,
      name: profile.name,
      request,
      until,
      keptHours,
      requestedBy: scope.actorId,
    };
    askAgent(tx, services.wakes, agentRequest, now);
    const subject = { type: 'connector-test', id: workId, name: profile.name };
    const { connectorProfileId } = call.params;
    const after = { connectorKind: kind, connectorProfileId, endpoint: tested.name, agentId };
    return [{ name: 'connector-test-requested', projectId, environmentName, subject, after }];
  });
}

/** Throws `connector-connection-invalid` and `connector-oauth-pending`. */
async function requireNamed({ rows }: TestCall, { secretNames, oauthName }: TestedEndpoint): Promise<void> {
  if (secretNames.length === 0 && oauthName === undefined) return;
  const [found] = await rows(namedByConnection, {
    secret_names: secretNames,
    oauth_name: oauthName ?? null,
  });
  const missing = secretNames.find((name) => !found?.secret_names.includes(name));
  if (missing !== undefined)
    throw problem('connector-connection-invalid', {
      field: 'body.connection',
      reason: `the project has no secret reference ${JSON.stringify(missing)}; create it, or name another`,
    });
  if (oauthName === undefined) return;
  if (found == null || found.oauth_state === null)
    throw problem('connector-connection-invalid', {
      field: 'body.connection.oauth',
      reason: `the project has no OAuth configuration ${JSON.stringify(oauthName)}; create it, or name another`,
    });
  if (found.oauth_state === 'PENDING')
    throw problem('connector-oauth-pending', {
      name: oauthName,
      reason: 'authorize it, or give it its secret references, before a test',
    });
}

/** Throws `unknown-environment`, `unknown-agent` and `connector-agent-unavailable`. */
async function readAgent({ rows, body }: TestCall) {
  const { environmentName, agentId } = body;
  if (agentId !== undefined && !isUuid(agentId)) throw problem('unknown-agent', { id: agentId });
  const [place] = await rows(testPlace, { environment_name: environmentName, agent_id: agentId ?? null });
  return requireTestAgent(place, environmentName, agentId);
}

function readResult({ state, result, message }: AgentAnswer) {
  if (state === 'ANSWERED' && result !== null) return { body: JSON.parse(result) as ConnectorTestResult };
  const reason = message ?? 'it gave no result';
  if (state === 'FORBIDDEN') return { refusal: problem('connector-agent-unavailable', { reason }) };
  return { refusal: problem('connector-test-failed', { reason }) };
}
