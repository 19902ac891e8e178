/**
 * Deletes an environment with its data. Its agents delete that when they ask (deleted-environments.store.ts of
 * agent-link); here its tables are found out before, so that nobody loses them unawares.
 */
import { deleteEnvironment } from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints, LongCall } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { cancelWorkIn, type WorkTimes } from '../../kernel/work/work.ts';
import {
  buildEnvironmentEvent,
  deleteEnvironmentRow,
  deleteSchedulesIn,
  lockEnvironment,
  presentEnvironment,
  renderEnvironmentEtag,
} from '../../workspace/environments/index.ts';
import {
  beginQuery,
  findHindrance,
  queriedPlace,
  type WarehouseQueryServices,
  waitForQuery,
} from '../warehouse-queries/index.ts';
import { dataOfEnvironment } from './environment-data.store.ts';

export interface EnvironmentDeletionServices extends WarehouseQueryServices {
  times: WorkTimes;
}

type DeleteCall = LongCall<typeof deleteEnvironment>;

/** Tables that the event and the detail of a problem name. */
const namedInEvent = 1_000;
const namedInProblem = 10;

const listTables = `
  select case when table_schema = 'main' then table_name else table_schema || '.' || table_name end as name,
    (count(*) over ())::integer as total
  from information_schema.tables
  where table_type = 'BASE TABLE'
  order by 1 limit ${namedInEvent}`;

/** What is known of the tables of an environment. `unknown`: why its agent could not be asked. */
type Tables = { names: string[]; total: number } | { unknown: string };

export function environmentDeletionRoutes({ long }: Endpoints, services: EnvironmentDeletionServices): void {
  long(deleteEnvironment, async (call) => {
    const { scope, params, query, headers, now } = call;
    const { projectId, environmentName } = params;
    const tables = await findTables(call, services);
    const holds = describe(tables);
    if (holds !== undefined && !query.confirm)
      throw problem('environment-holds-tables', { name: environmentName, holds });
    return call.write('', async (tx) => {
      const stored = await lockEnvironment(tx, scope, projectId, environmentName);
      requireMatch(headers['If-Match'], renderEnvironmentEtag(stored));
      const place = { accountId: scope.accountId, projectId, environmentName };
      const agents = await cancelWorkIn(tx, place, now, services.times);
      const schedules = await deleteSchedulesIn(tx, scope, projectId, environmentName);
      tx.send(deleteEnvironmentRow, {
        account_id: scope.accountId,
        project_id: projectId,
        name: environmentName,
      });
      tx.afterCommit(() => {
        for (const agentId of agents) services.wakes.wake(agentId, 'all');
      });
      const before = { ...presentEnvironment(stored), ...schedules.named, ...nameTables(tables) };
      const deleted = buildEnvironmentEvent('environment-deleted', projectId, environmentName, { before });
      return { events: [...schedules.events, deleted] };
    });
  });
}

/** Asks the agent of the environment. @throws `environment-not-found` */
async function findTables(call: DeleteCall, services: EnvironmentDeletionServices): Promise<Tables> {
  const { environmentName } = call.params;
  const data = requireRow(await call.rows(dataOfEnvironment, { environment_name: environmentName }), () =>
    problem('environment-not-found', { name: environmentName }),
  );
  const [agent] = await call.rows(queriedPlace, { environment_name: environmentName, agent_id: null });
  const none = { names: [], total: 0 };
  if (!data.may_hold) return none;
  if (agent === undefined || agent.agent_id === null || agent.agent_name === null)
    return { unknown: 'it has no agent that could be asked' };
  const name = `its agent ${JSON.stringify(agent.agent_name)}`;
  const hindrance = findHindrance(agent);
  if (hindrance !== undefined) return { unknown: `${name} ${hindrance}` };
  const request = { environmentName, sql: listTables, maxRows: namedInEvent };
  const begun = await beginQuery(call, services, { agent_id: agent.agent_id }, request);
  if ('answer' in begun) throw new Error('not reached: a DELETE has no Idempotency-Key');
  const outcome = await waitForQuery(call, services, begun.pending.workId);
  if (outcome === undefined) return { unknown: `${name} did not answer in time` };
  if (outcome.result === null)
    return { unknown: `${name} could not list them (${outcome.message ?? 'without a reason'})` };
  const { rows } = outcome.result;
  const names = rows.map(([table]) => String(table));
  return { names, total: Math.max(names.length, Number(rows[0]?.[1] ?? 0)) };
}

/** Undefined: it holds no tables. */
function describe(tables: Tables): string | undefined {
  if ('unknown' in tables) return `may hold tables, and ${tables.unknown}`;
  if (tables.total === 0) return undefined;
  const named = tables.names.slice(0, namedInProblem).map((name) => JSON.stringify(name));
  const more = tables.total - named.length;
  const list = more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
  return `holds ${tables.total} ${tables.total === 1 ? 'table' : 'tables'}: ${list}`;
}

/** Members of the event. */
function nameTables(tables: Tables): object {
  if ('unknown' in tables) return { tablesUnknown: tables.unknown.slice(0, 2_000) };
  return tables.total === 0 ? {} : { tables: tables.names, tableCount: tables.total };
}
