/** Queries that only read the warehouse of an environment. Its agent runs them. */
import { type Static, Type } from 'typebox';
import { ProjectWarehouse } from '../agent-protocol/run-members.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { EnvironmentName, Generation, OpaqueId, Uuid } from '../primitives.ts';
import { projectPath } from '../project/project.ts';

export const queryRowLimit = 1_000;
export const queryDefaultRows = 100;
const sqlLimit = 100_000;
/** Of the names of the columns, and of all rows, as JSON. */
export const queryBytesLimit = 262_144;
export const querySecondsLimit = 30;

const Sql = Type.String({ minLength: 1, maxLength: sqlLimit });

export const WarehouseQueryWork = Type.Object({
  projectId: Uuid,
  environmentName: EnvironmentName,
  generation: Generation,
  warehouse: ProjectWarehouse,
  sql: Sql,
  maxRows: Type.Integer({ minimum: 1, maximum: queryRowLimit }),
  maxBytes: Type.Integer({ minimum: 1 }),
  seconds: Type.Integer({ minimum: 1 }),
});
export type WarehouseQueryWork = Static<typeof WarehouseQueryWork>;

const Text = Type.String({ maxLength: queryBytesLimit });
const Cell = Type.Union([Text, Type.Number(), Type.Boolean(), Type.Null()]);
export const WarehouseRows = named(
  'WarehouseRows',
  Type.Object({
    columns: Type.Array(Text, { maxItems: queryBytesLimit }),
    rows: Type.Array(Type.Array(Cell, { maxItems: queryBytesLimit }), {
      maxItems: queryRowLimit,
      description:
        'In the order of the columns. Dates and times are texts, like numbers that a double cannot hold',
    }),
    isCut: Type.Boolean({
      description: `There are more rows: than the limit, or than ${queryBytesLimit.toLocaleString('en')} bytes hold`,
    }),
  }),
);
export type WarehouseRows = Static<typeof WarehouseRows>;

export const queryWarehouse = operation({
  id: 'queryWarehouse',
  method: 'POST',
  path: '/v1/projects/{projectId}/warehouse-queries',
  surface: 'dpc',
  tag: 'Warehouse queries',
  summary: 'Query the warehouse of an environment',
  description:
    `Runs one SELECT statement by the agent of the environment and returns its first rows. The statement can change nothing: the warehouse itself refuses it. It may take ${querySecondsLimit} seconds. ` +
    'The response is 409 if no agent can run it, 422 if the warehouse refuses it, and 504 if the agent does not answer in time.',
  permission: 'executions:read',
  environmentFrom: 'body.environmentName',
  params: Type.Object(projectPath),
  body: Type.Object({
    environmentName: EnvironmentName,
    sql: Sql,
    maxRows: Type.Optional(
      Type.Integer({ minimum: 1, maximum: queryRowLimit, description: `Default: ${queryDefaultRows}` }),
    ),
    agentId: Type.Optional({ ...OpaqueId, description: 'Default: the agent of the environment' }),
  }),
  success: { status: 200, body: WarehouseRows },
  problems: [
    'environment-not-found',
    'environment-without-agent',
    'unknown-agent',
    'no-agent-for-query',
    'warehouse-query-failed',
    'warehouse-query-timeout',
  ],
  events: ['warehouse-query-requested'],
});

export const warehouseQueryOperations = [queryWarehouse] as const;
