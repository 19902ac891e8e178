/** The SQL of a transformation, without a run. A thread plans it, because a file can make that take seconds. */
import { type ProjectWarehouse, queryWarehouse, readSnowflakeName } from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';
import { createWorkThread, TooCostly, type WorkThread } from '../../kernel/threads/work-thread.ts';
import { quote, requireEnvironment, type ToolServices } from './declared-tool.ts';
import { readPlannedWarehouse } from './planned-warehouse.store.ts';
import type { PlanOrder, SqlPlan } from './planning.ts';
import { toCaller } from './tool/actors.ts';
import type { ToolContext } from './tool/tool.ts';
import { ToolFault } from './tool/tool-fault.ts';

const longestFile = 200_000;
const milliseconds = 10_000;
const megabytes = 192;
/** Of plans for one call: a component whose query depends on the answer to another one needs one more. */
const mostRounds = 10;

export type SqlPlanner = WorkThread<PlanOrder, SqlPlan>;

export function createSqlPlanner(): SqlPlanner {
  return createWorkThread({
    module: new URL('./planning.thread.ts', import.meta.url),
    megabytes,
    waiting: { ofOne: 16, inAll: 200 },
    refuse: () => problem('overloaded'),
  });
}

export async function planSql(
  services: ToolServices,
  planner: SqlPlanner,
  context: ToolContext,
  { path, text }: { path: string; text: string },
): Promise<string> {
  if (text.length > longestFile) throw new ToolFault(`${quote(path)} is too long to plan`);
  const warehouse = describePlanned(await readPlannedWarehouse(services.database, context));
  const answers = new Map<string, Awaited<ReturnType<typeof askWarehouse>> | { failure: string }>();
  for (let round = 0; round < mostRounds; round += 1) {
    const order = { path, text, warehouse, answers };
    const plan = await planner.run(context.task.accountId, order, { milliseconds }).catch((failure) => {
      if (failure instanceof TooCostly) throw new ToolFault(`planning ${quote(path)} ${failure.message}`);
      throw failure;
    });
    context.signal.throwIfAborted();
    if ('text' in plan) return plan.text;
    if ('fault' in plan) throw new ToolFault(plan.fault);
    for (const sql of plan.queries) {
      const answer = await askWarehouse(services, context, sql).catch((failure: unknown) => {
        // An abort is no answer of the warehouse.
        context.signal.throwIfAborted();
        return { failure: failure instanceof Error ? failure.message : String(failure) };
      });
      answers.set(sql, answer);
    }
  }
  throw new ToolFault(`the plan of ${quote(path)} needs more than ${mostRounds - 1} rounds of queries`);
}

/** @throws ToolFault if no run writes SQL for it */
function describePlanned(warehouse: ProjectWarehouse | undefined): PlanOrder['warehouse'] {
  if (warehouse === undefined || warehouse.kind === 'duckdb') return { kind: 'duckdb' };
  if (warehouse.kind !== 'postgres' && warehouse.kind !== 'snowflake')
    throw new ToolFault(
      `runs in the project's warehouse, ${warehouse.kind.toUpperCase()}, are refused, so that it has no SQL`,
    );
  const schema = warehouse.connection?.properties.schema;
  const value = schema !== undefined && 'value' in schema ? String(schema.value).trim() : '';
  if (warehouse.kind === 'snowflake')
    return { kind: 'snowflake', schema: readSnowflakeName(value || 'PUBLIC') };
  return { kind: 'postgres', schema: value === '' ? 'public' : value };
}

async function askWarehouse({ platform }: ToolServices, context: ToolContext, sql: string) {
  const environmentName = requireEnvironment(context);
  const { columns, rows } = await platform.call(queryWarehouse, toCaller(context), {
    params: { projectId: context.task.projectId },
    body: { environmentName, sql, maxRows: 1_000 },
  });
  return { columns, rows };
}
