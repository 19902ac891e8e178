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

export const WarehouseText = Type.String({ maxLength: queryBytesLimit });
const Sql = Type.String({ minLength: 1, maxLength: sqlLimit });

/** Where an agent reads a warehouse, and the limits of what it returns. */
export const warehouseReadMembers = {
  projectId: Uuid,
  environmentName: EnvironmentName,
  generation: Generation,
  warehouse: ProjectWarehouse,
  maxBytes: Type.Integer({ minimum: 1 }),
  seconds: Type.Integer({ minimum: 1 }),
};
export const WarehouseQueryWork = Type.Object({
  ...warehouseReadMembers,
  sql: Sql,
  maxRows: Type.Integer({ minimum: 1, maximum: queryRowLimit }),
});
export type WarehouseQueryWork = Static<typeof WarehouseQueryWork>;

const Cell = Type.Union([WarehouseText, Type.Number(), Type.Boolean(), Type.Null()]);
/** @param order of what the rows and their values are in */
export const rowsMembers = (order: string, limits: { rows: number; columns: number }) => ({
  columns: Type.Array(WarehouseText, { maxItems: limits.columns }),
  rows: Type.Array(Type.Array(Cell, { maxItems: limits.columns }), {
    maxItems: limits.rows,
    description: `In ${order}. Dates and times are texts, like numbers that a double cannot hold`,
  }),
  isCut: Type.Boolean({
    description: `There are more rows: than the limit, or than ${queryBytesLimit.toLocaleString('en')} bytes hold`,
  }),
});
export const WarehouseRows = named(
  'WarehouseRows',
  Type.Object(rowsMembers('the order of the columns', { rows: queryRowLimit, columns: queryBytesLimit })),
);
export type WarehouseRows = Static<typeof WarehouseRows>;

export const agentMember = {
  agentId: Type.Optional({ ...OpaqueId, description: 'Default: the agent of the environment' }),
};
export const warehouseReadProblems = [
  'environment-not-found',
  'environment-without-agent',
  'unknown-agent',
  'no-agent-for-query',
  'warehouse-query-failed',
  'warehouse-query-timeout',
] as const;

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
    ...agentMember,
  }),
  success: { status: 200, body: WarehouseRows },
  problems: warehouseReadProblems,
  events: ['warehouse-query-requested'],
});

export const warehouseQueryOperations = [queryWarehouse] as const;
