/** Runs a query by the agent of an environment. The request waits for the agent. */
import {
  queryBytesLimit,
  queryDefaultRows,
  querySecondsLimit,
  queryWarehouse,
  type WarehouseRows,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { AwaitedWork, Call, Endpoints, LongCall, Services } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { askAgent, waitForAnswer } from '../../kernel/work/agent-request.ts';
import { findObstacle } from '../../workspace/agents/index.ts';
import { type QueriedPlaceRow, queriedPlace } from './warehouse-query.store.ts';

export interface WarehouseQueryServices extends Services {
  wakes: Wakes;
  /** How long a request waits until an agent takes its work. */
  secretWaitSeconds: number;
  stopping: AbortSignal;
}

type QueryCall = LongCall<typeof queryWarehouse>;
export type QueriedAgent = QueriedPlaceRow & { agent_id: string; agent_name: string };

const subjectName = 'query';
/** The rows of a result are needed only while the request waits. */
const keptHours = 1;

export function warehouseQueryRoutes({ long }: Endpoints, services: WarehouseQueryServices): void {
  long(queryWarehouse, async (call) => {
    const agent = await requireAgent(call);
    const begun =
      (await call.awaited.findEarlier()) ??
      (await beginQuery(call, services, agent, { ...call.body, requestedBy: call.scope.actorId }));
    if ('answer' in begun) return begun.answer;
    const { workId: queryId } = begun.pending;
    const outcome = await waitForQuery(call, services, queryId);
    if (outcome === undefined) {
      await call.awaited.giveUp(queryId);
      const seconds = services.secretWaitSeconds + querySecondsLimit;
      throw problem('warehouse-query-timeout', { agentName: agent.agent_name, seconds });
    }
    if (outcome.result !== null) return call.awaited.finish(queryId, { body: outcome.result });
    await call.awaited.giveUp(queryId);
    throw problem('warehouse-query-failed', { message: outcome.message ?? 'the agent gave no reason' });
  });
}

/** Throws `environment-not-found`, `environment-without-agent`, `unknown-agent` and `no-agent-for-query`. */
async function requireAgent({ rows, body }: QueryCall): Promise<QueriedAgent> {
  const { environmentName, agentId } = body;
  const found = await rows(queriedPlace, {
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

type Asking = Pick<Call<never>, 'scope' | 'now' | 'newId'> & {
  params: { projectId: string };
  awaited: Pick<AwaitedWork<never>, 'begin'>;
};

interface Asked {
  environmentName: string;
  sql: string;
  maxRows?: number;
  /** Must still have permission to run pipelines there when the query is claimed. */
  requestedBy?: string;
}

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

export function beginQuery(
  call: Asking,
  services: Pick<WarehouseQueryServices, 'wakes' | 'secretWaitSeconds'>,
  { agent_id: agentId }: Pick<QueriedAgent, 'agent_id'>,
  { environmentName, sql, maxRows = queryDefaultRows, requestedBy }: Asked,
) {
  const { scope, params, now } = call;
  const { projectId } = params;
  const queryId = call.newId();
  const until = new Date(now.getTime() + services.secretWaitSeconds * 1_000);
  const pendingUntil = new Date(until.getTime() + querySecondsLimit * 1_000);
  return call.awaited.begin({ workId: queryId, until: pendingUntil }, (tx) => {
    const agentRequest = {
      accountId: scope.accountId,
      requestId: queryId,
      agentId,
      kind: 'warehouse-query',
      projectId,
      environmentName,
      name: subjectName,
      request: { sql, maxRows, maxBytes: queryBytesLimit, seconds: querySecondsLimit },
      until,
      keptHours,
      requestedBy,
    };
    askAgent(tx, services.wakes, agentRequest, now);
    const subject = { type: 'warehouse-query', id: queryId, name: subjectName };
    const after = { environmentName, maxRows, agentId, sql: sql.slice(0, 2_000).toWellFormed() };
    return [{ name: 'warehouse-query-requested', projectId, environmentName, subject, after }];
  });
}
