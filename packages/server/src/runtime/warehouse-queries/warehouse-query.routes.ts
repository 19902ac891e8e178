/** Runs a query by the agent of an environment. The request waits for the agent. */
import {
  queryBytesLimit,
  queryDefaultRows,
  querySecondsLimit,
  queryWarehouse,
  type WarehouseRows,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints, LongCall } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { waitForAnswer } from '../../kernel/work/agent-request.ts';
import {
  type AgentQuestion,
  type AnswerServices,
  answerByAgent,
  beginQuestion,
} from '../../kernel/work/awaited-answer.ts';
import { findObstacle } from '../../workspace/agents/index.ts';
import { type QueriedPlaceRow, queriedPlace, type tablesPlace } from './warehouse-query.store.ts';

export type WarehouseQueryServices = AnswerServices;
export type QueriedAgent = QueriedPlaceRow & { agent_id: string; agent_name: string };
type Asking = Parameters<typeof beginQuestion>[0] & { params: { projectId: string } };

const subjectName = 'query';
/** The rows of a result are needed only while the request waits. */
export const keptHours = 1;

export function warehouseQueryRoutes({ long }: Endpoints, services: WarehouseQueryServices): void {
  long(queryWarehouse, async (call) => {
    const { agent_id, agent_name } = await requireAgent(call, queriedPlace, call.body);
    const question = createQuestion(call, { agent_id }, { ...call.body, requestedBy: call.scope.actorId });
    return answerByAgent(call, services, question, {
      read: ({ result, message }) => ({ body: JSON.parse(requireResult(result, message)) }),
      createTimeout: (seconds) => problem('warehouse-query-timeout', { agentName: agent_name, seconds }),
    });
  });
}

/** Throws `warehouse-query-failed`. */
export function requireResult(result: string | null, message: string | null): string {
  if (result !== null) return result;
  throw problem('warehouse-query-failed', { message: message ?? 'the agent gave no reason' });
}

/** Throws `environment-not-found`, `environment-without-agent`, `unknown-agent` and `no-agent-for-query`. */
export async function requireAgent(
  { rows }: Pick<LongCall<never>, 'rows'>,
  statement: typeof queriedPlace | typeof tablesPlace,
  { environmentName, agentId }: { environmentName: string; agentId?: string },
): Promise<QueriedAgent> {
  const found = await rows(statement, {
    environment_name: environmentName,
    agent_id: agentId === undefined ? null : toUuid(agentId),
  });
  const place = requireRow(found, () => problem('environment-not-found', { name: environmentName }));
  const { agent_id, agent_name } = place;
  if (agentId !== undefined && agent_id === null) throw problem('unknown-agent', { id: agentId });
  if (agent_id === null || agent_name === null)
    throw problem('environment-without-agent', { name: environmentName });
  const reason = findHindrance(place);
  if (reason !== undefined)
    throw problem('no-agent-for-query', { environmentName, agentName: agent_name, reason });
  return { ...place, agent_id, agent_name };
}

/** Why the agent cannot be asked, after its name. */
export const findHindrance = (place: QueriedPlaceRow) => findObstacle(place, 'to run queries')?.words;

interface Query {
  environmentName: string;
  sql: string;
  maxRows?: number;
  /** Must still have permission to query tables there when the query is claimed. */
  requestedBy?: string;
}

function createQuestion(
  { params: { projectId } }: Pick<Asking, 'params'>,
  { agent_id: agentId }: Pick<QueriedAgent, 'agent_id'>,
  { environmentName, sql, maxRows = queryDefaultRows, requestedBy }: Query,
): AgentQuestion {
  return {
    agentId,
    kind: 'warehouse-query',
    projectId,
    environmentName,
    name: subjectName,
    request: { sql, maxRows, maxBytes: queryBytesLimit, seconds: querySecondsLimit },
    seconds: querySecondsLimit,
    keptHours,
    requestedBy,
    events(id) {
      const subject = { type: 'warehouse-query', id, name: subjectName };
      const after = { environmentName, maxRows, agentId, sql: sql.slice(0, 2_000).toWellFormed() };
      return [{ name: 'warehouse-query-requested', projectId, environmentName, subject, after }];
    },
  };
}

export const beginQuery = (
  call: Asking,
  services: Pick<WarehouseQueryServices, 'wakes' | 'secretWaitSeconds'>,
  agent: Pick<QueriedAgent, 'agent_id'>,
  query: Query,
) => beginQuestion(call, services, createQuestion(call, agent, query));

/** @returns undefined if the agent did not answer in time */
export async function waitForQuery(
  { scope, params }: Pick<Asking, 'scope' | 'params'>,
  services: WarehouseQueryServices,
  queryId: string,
): Promise<{ result: WarehouseRows | null; message: string | null } | undefined> {
  const seconds = services.secretWaitSeconds + querySecondsLimit;
  const place = { accountId: scope.accountId, ...params };
  const outcome = await waitForAnswer(services, seconds, queryId, place);
  return outcome && { ...outcome, result: outcome.result === null ? null : JSON.parse(outcome.result) };
}
