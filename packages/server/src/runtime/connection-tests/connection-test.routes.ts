/** Tests a data warehouse connection by an agent. The request waits for the agent. */
import {
  type ConnectionTestResult,
  connectionTestSeconds,
  testDataPlatformConnection,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints, LongCall } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { isUuid } from '../../kernel/identifiers.ts';
import type { AgentAnswer } from '../../kernel/work/agent-request.ts';
import { type AgentQuestion, type AnswerServices, answerByAgent } from '../../kernel/work/awaited-answer.ts';
import { findObstacle } from '../../workspace/agents/index.ts';
import { type TestedConnectionRow, testedConnection } from './connection-test.store.ts';

export type ConnectionTestServices = AnswerServices;

type TestCall = LongCall<typeof testDataPlatformConnection>;
type Tested = TestedConnectionRow & { agent_id: string; agent_name: string };

/** Longer than an Idempotency-Key is valid. */
const keptHours = 48;

export function connectionTestRoutes({ long }: Endpoints, services: ConnectionTestServices): void {
  long(testDataPlatformConnection, async (call) => {
    const tested = await requireTested(call);
    return answerByAgent(call, services, createQuestion(call, tested), {
      read: (answer) => ({ body: readResult(answer) }),
      createTimeout: (seconds) =>
        problem('connection-test-timeout', { agentName: tested.agent_name, seconds }),
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

function createQuestion({ scope, params: { projectId } }: TestCall, tested: Tested): AgentQuestion {
  const { name, environment_name: environmentName, agent_id: agentId } = tested;
  return {
    agentId,
    kind: 'connection-test',
    projectId,
    environmentName,
    name,
    request: {
      projectId,
      authProvider: tested.auth_provider,
      connection: { name, properties: tested.properties },
      seconds: connectionTestSeconds,
    },
    seconds: connectionTestSeconds,
    keptHours,
    requestedBy: scope.actorId,
    events(id) {
      const subject = { type: 'connection-test', id, name };
      const place = environmentName === null ? {} : { environmentName };
      return [{ name: 'connection-test-requested', projectId, ...place, subject, after: { agentId } }];
    },
  };
}

/** Throws `connection-test-agent-unavailable`. */
function readResult({ result, message }: AgentAnswer): ConnectionTestResult {
  if (result !== null) return JSON.parse(result);
  throw problem('connection-test-agent-unavailable', { reason: message ?? 'the agent gave no result' });
}
