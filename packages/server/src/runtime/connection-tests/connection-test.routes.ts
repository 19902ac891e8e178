/** Tests a data warehouse connection by an agent. The request waits for the agent. */
import {
  type ConnectionTestResult,
  connectionTestSeconds,
  testDataPlatformConnection,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints, LongCall, Services } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { isUuid } from '../../kernel/identifiers.ts';
import { type AgentAnswer, askAgent, waitForAnswer } from '../../kernel/work/agent-request.ts';
import { findObstacle } from '../../workspace/agents/index.ts';
import { type TestedConnectionRow, testedConnection } from './connection-test.store.ts';

export interface ConnectionTestServices extends Services {
  wakes: Wakes;
  /** How long a request waits until an agent takes its work. */
  secretWaitSeconds: number;
  stopping: AbortSignal;
}

type TestCall = LongCall<typeof testDataPlatformConnection>;
type Tested = TestedConnectionRow & { agent_id: string; agent_name: string };

/** Longer than an Idempotency-Key is valid. */
const keptHours = 48;

export function connectionTestRoutes({ long }: Endpoints, services: ConnectionTestServices): void {
  long(testDataPlatformConnection, async (call) => {
    const tested = await requireTested(call);
    const begun = (await call.awaited.findEarlier()) ?? (await begin(call, services, tested));
    if ('answer' in begun) return begun.answer;
    const { workId } = begun.pending;
    const seconds = services.secretWaitSeconds + connectionTestSeconds;
    const place = { accountId: call.scope.accountId, ...call.params };
    const outcome = await waitForAnswer(services, seconds, workId, place);
    if (outcome === undefined) {
      await call.awaited.giveUp(workId);
      throw problem('connection-test-timeout', { agentName: tested.agent_name, seconds });
    }
    const result = readResult(outcome);
    if (result !== undefined) return call.awaited.finish(workId, { body: result });
    await call.awaited.giveUp(workId);
    throw problem('connection-test-agent-unavailable', {
      reason: outcome.message ?? 'the agent gave no result',
    });
  });
}

/** Throws `connection-not-found`, `unknown-environment`, `unknown-agent` and `connection-test-agent-unavailable`. */
async function requireTested({ rows, params, body }: TestCall): Promise<Tested> {
  const { environmentName, agentId } = body;
  if (agentId !== undefined && !isUuid(agentId)) throw problem('unknown-agent', { id: agentId });
  const name = params.connectionName;
  const found = await rows(testedConnection, {
    name,
    environment_name: environmentName ?? null,
    agent_id: agentId ?? null,
  });
  const tested = requireRow(found, () => problem('connection-not-found', { name }));
  if (environmentName !== undefined && tested.environment_name === null)
    throw problem('unknown-environment', { name: environmentName });
  const { agent_id, agent_name } = tested;
  if (agent_id === null || agent_name === null) {
    if (agentId !== undefined) throw problem('unknown-agent', { id: agentId });
    throw problem('connection-test-agent-unavailable', {
      reason: 'it is not known which agent is meant: pass agentId, or an environment with a default agent',
    });
  }
  const obstacle = findObstacle(tested, 'to test connections');
  if (obstacle !== undefined)
    throw problem('connection-test-agent-unavailable', {
      reason: `the agent ${JSON.stringify(agent_name)} ${obstacle.words}`,
    });
  return { ...tested, agent_id, agent_name };
}

function begin(call: TestCall, services: ConnectionTestServices, tested: Tested) {
  const { scope, params, now } = call;
  const { projectId } = params;
  const { name, environment_name: environmentName, agent_id: agentId } = tested;
  const workId = call.newId();
  const until = new Date(now.getTime() + services.secretWaitSeconds * 1_000);
  const pendingUntil = new Date(until.getTime() + connectionTestSeconds * 1_000);
  return call.awaited.begin({ workId, until: pendingUntil }, (tx) => {
    const request = {
      projectId,
      authProvider: tested.auth_provider,
      connection: { name, properties: tested.properties },
      seconds: connectionTestSeconds,
    };
    const agentRequest = {
      accountId: scope.accountId,
      requestId: workId,
      agentId,
      kind: 'connection-test',
      projectId,
      environmentName,
      name,
      request,
      until,
      keptHours,
      requestedBy: scope.actorId,
    };
    askAgent(tx, services.wakes, agentRequest, now);
    const subject = { type: 'connection-test', id: workId, name };
    const place = environmentName === null ? {} : { environmentName };
    return [{ name: 'connection-test-requested', projectId, ...place, subject, after: { agentId } }];
  });
}

function readResult({ state, result }: AgentAnswer): ConnectionTestResult | undefined {
  return state === 'ANSWERED' && result !== null ? JSON.parse(result) : undefined;
}
