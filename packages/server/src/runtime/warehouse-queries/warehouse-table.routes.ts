/** Reads of the tables and views of an environment's warehouse, by its agent. The request waits for the agent. */
import {
  getWarehouseTable,
  listWarehouseTables,
  parseTableName,
  previewWarehouseTable,
  queryBytesLimit,
  querySecondsLimit,
  renderTableName,
  type TableReadResult,
  type TableReadWork,
} from '@headgate/contract';
import type { Endpoints, LongCall } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { AgentAnswer } from '../../kernel/work/agent-request.ts';
import { answerByAgent } from '../../kernel/work/awaited-answer.ts';
import {
  keptHours,
  requireAgent,
  requireResult,
  type WarehouseQueryServices,
} from './warehouse-query.routes.ts';
import { tablesPlace } from './warehouse-query.store.ts';

type Operation = typeof listWarehouseTables | typeof getWarehouseTable | typeof previewWarehouseTable;
type TableCall = LongCall<typeof getWarehouseTable> | LongCall<typeof previewWarehouseTable>;
type Result<Member extends string> = Extract<TableReadResult, Record<Member, unknown>>;

export function warehouseTableRoutes({ long }: Endpoints, services: WarehouseQueryServices): void {
  long(listWarehouseTables, async (call) => {
    const { name } = call.query;
    if (name?.includes('\0') === true) throw problem('invalid-table-name', { name });
    const { limit, offset } = computePageBounds(call.query);
    const read = { type: 'list' as const, offset, limit };
    return readByAgent(call, services, name === undefined ? read : { ...read, contains: name }, (answer) => {
      const { tables, total } = readResult<'tables'>(answer);
      const results = tables.map((table) => ({ tableName: renderTableName(table), ...table }));
      return { page: call.query.page, results, size: limit, total };
    });
  });
  long(getWarehouseTable, (call) =>
    readByAgent(call, services, { type: 'describe', ...requireName(call) }, (answer) => {
      const { table } = readFound<'table'>(call, answer);
      return { tableName: renderTableName(table), ...table };
    }),
  );
  long(previewWarehouseTable, (call) => {
    const read = { type: 'preview' as const, ...requireName(call), maxRows: call.query.limit };
    return readByAgent(call, services, read, (answer) => readFound<'preview'>(call, answer).preview);
  });
}

/** Throws `invalid-table-name`. */
function requireName({ params }: TableCall) {
  const name = parseTableName(params.tableName);
  if (name === undefined) throw problem('invalid-table-name', { name: params.tableName });
  return name;
}

async function readByAgent<Op extends Operation>(
  call: LongCall<Op>,
  services: WarehouseQueryServices,
  read: TableReadWork['read'],
  createBody: (answer: AgentAnswer) => object,
) {
  const { projectId, environmentName } = call.params as { projectId: string; environmentName: string };
  const { agentId } = call.query as { agentId?: string };
  const place = { environmentName, ...(agentId === undefined ? {} : { agentId }) };
  const { agent_id, agent_name } = await requireAgent(call, tablesPlace, place);
  const question = {
    agentId: agent_id,
    kind: 'table-read',
    projectId,
    environmentName,
    name: 'name' in read ? renderTableName(read) : 'tables',
    request: { read, maxBytes: queryBytesLimit, seconds: querySecondsLimit },
    seconds: querySecondsLimit,
    keptHours,
    requestedBy: call.scope.actorId,
  };
  return answerByAgent(call, services, question, {
    read: (answer) => ({ body: createBody(answer) as never }),
    createTimeout: (seconds) => problem('warehouse-query-timeout', { agentName: agent_name, seconds }),
  });
}

const readResult = <Member extends string>({ result, message }: AgentAnswer): Result<Member> =>
  JSON.parse(requireResult(result, message));

/** Throws `table-not-found`. */
function readFound<Member extends string>({ params }: TableCall, answer: AgentAnswer): Result<Member> {
  const result = JSON.parse(requireResult(answer.result, answer.message)) as TableReadResult;
  if (!('nearest' in result)) return result as Result<Member>;
  const { tableName: name, environmentName } = params;
  throw problem('table-not-found', { name, environmentName, nearest: result.nearest });
}
