/** The tables and views of the warehouse of an environment. Its agent reads them. */
import { type Static, Type } from 'typebox';
import { environmentPath } from '../environment/environment.ts';
import { nameLimit } from '../limits.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { oneOf, pageOf, pageQuery, pageSizeLimit } from '../primitives.ts';
import {
  agentMember,
  querySecondsLimit,
  rowsMembers,
  WarehouseText,
  warehouseReadMembers,
  warehouseReadProblems,
} from '../warehouse-query/warehouse-query.ts';
import { identifierLimit } from './table-name.ts';

export const previewRowLimit = 200;
export const previewDefaultRows = 20;
/** Characters of one value; fewer if there are many columns. */
export const previewValueLimit = 1_000;
/** PostgreSQL has 1,600 at most. */
const columnLimit = 10_000;
const commentLimit = 1_000;
/** Of two such names, each with its quotation marks doubled and in quotation marks. */
const writtenLimit = 2 * (2 * identifierLimit + 2) + 1;
export const nearestTablesLimit = 3;

const Identifier = Type.String({ maxLength: identifierLimit });
const Comment = Type.String({ maxLength: commentLimit, description: 'Its first 1,000 characters' });

const tableMembers = {
  schema: Identifier,
  name: Identifier,
  kind: oneOf(['TABLE', 'VIEW']),
  comment: Type.Optional(Comment),
};
const Rows = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));
const fromStatistics = 'By the statistics of the warehouse, which may be old. Absent if it is not known';

const ListedTable = Type.Object({
  ...tableMembers,
  rows: Rows(fromStatistics),
  bytes: Rows(fromStatistics),
});
export type ListedTable = Static<typeof ListedTable>;

export const WarehouseColumn = named(
  'WarehouseColumn',
  Type.Object({
    name: Identifier,
    type: Type.String({ maxLength: 10_000, description: 'As the warehouse names it' }),
    nullable: Type.Boolean(),
    comment: Type.Optional(Comment),
  }),
);
export type WarehouseColumn = Static<typeof WarehouseColumn>;

const DescribedTable = Type.Object({
  ...tableMembers,
  rows: Rows(
    'Counted in DUCKDB, by the statistics of the warehouse in POSTGRES and SNOWFLAKE. Absent if it is not known',
  ),
  bytes: Rows('With indexes. Absent if it is not known'),
  columns: Type.Array(WarehouseColumn, { maxItems: columnLimit, description: 'In the order of the table' }),
});
export type DescribedTable = Static<typeof DescribedTable>;

export const TablePreview = named(
  'TablePreview',
  Type.Object({
    ...rowsMembers('no particular order', { rows: previewRowLimit, columns: columnLimit }),
    cutColumns: Type.Array(WarehouseText, {
      maxItems: columnLimit,
      description: `Columns with a value that was cut, after ${previewValueLimit.toLocaleString('en')} characters, or fewer in a table of more than 32 columns`,
    }),
  }),
);
export type TablePreview = Static<typeof TablePreview>;

const Table = { schema: Type.Optional(Identifier), name: Identifier };
export const TableReadWork = Type.Object({
  ...warehouseReadMembers,
  read: Type.Union([
    Type.Object({
      type: Type.Literal('list'),
      contains: Type.Optional(Identifier),
      offset: Type.Integer({ minimum: 0 }),
      limit: Type.Integer({ minimum: 1, maximum: pageSizeLimit }),
    }),
    Type.Object({ type: Type.Literal('describe'), ...Table }),
    Type.Object({
      type: Type.Literal('preview'),
      ...Table,
      maxRows: Type.Integer({ minimum: 1, maximum: previewRowLimit }),
    }),
  ]),
});
/** One read of the tables of a warehouse. Completes with `tableRead`. */
export type TableReadWork = Static<typeof TableReadWork>;

export const TableReadResult = Type.Union([
  Type.Object({
    tables: Type.Array(ListedTable, { maxItems: pageSizeLimit }),
    total: Type.Integer({ minimum: 0 }),
  }),
  Type.Object({ table: DescribedTable }),
  Type.Object({ preview: TablePreview }),
  Type.Object({
    nearest: Type.Array(Type.String({ maxLength: writtenLimit }), {
      maxItems: nearestTablesLimit,
      description: 'There is no such table; these are like it',
    }),
  }),
]);
export type TableReadResult = Static<typeof TableReadResult>;

const writtenName = Type.String({
  maxLength: writtenLimit,
  description:
    'As the other operations take it: `schema.name`, with a part in quotation marks if it holds a dot or one of them',
});
export const WarehouseTable = named(
  'WarehouseTable',
  Type.Object({ tableName: writtenName, ...ListedTable.properties }),
);
export type WarehouseTable = Static<typeof WarehouseTable>;

export const WarehouseTableDetails = named(
  'WarehouseTableDetails',
  Type.Object({ tableName: writtenName, ...DescribedTable.properties }),
);
export type WarehouseTableDetails = Static<typeof WarehouseTableDetails>;

const path = '/v1/projects/{projectId}/environments/{environmentName}/tables';
const tableOperation = {
  surface: 'dpc',
  tag: 'Warehouse queries',
  permission: 'executions:read',
  environmentFrom: 'params.environmentName',
  method: 'GET',
} as const;
const tablePath = {
  ...environmentPath,
  tableName: Type.String({
    minLength: 1,
    maxLength: writtenLimit,
    description:
      '`schema.name`, or `name` in the default schema. Write a part with a dot in quotation marks, and double those that it holds: `shop."net.sales"`',
  }),
};
const slowRead = `The agent of the environment is asked, which may take ${querySecondsLimit} seconds.`;

export const listWarehouseTables = operation({
  ...tableOperation,
  id: 'listWarehouseTables',
  path,
  summary: 'List tables and views',
  description: `Ordered by schema and name. ${slowRead} In a project of POSTGRES, REDSHIFT or SNOWFLAKE these are the tables that the connection’s role or user for reading may read.`,
  params: Type.Object(environmentPath),
  query: Type.Object({
    ...pageQuery,
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: nameLimit,
        description: 'Only tables whose name has this in it, in upper or lower case',
      }),
    ),
    ...agentMember,
  }),
  success: { status: 200, body: pageOf(WarehouseTable) },
  problems: [...warehouseReadProblems, 'invalid-table-name'],
  events: [],
});

export const getWarehouseTable = operation({
  ...tableOperation,
  id: 'getWarehouseTable',
  path: `${path}/{tableName}`,
  summary: 'Get the columns of a table',
  description: slowRead,
  params: Type.Object(tablePath),
  query: Type.Object(agentMember),
  success: { status: 200, body: WarehouseTableDetails },
  problems: [...warehouseReadProblems, 'invalid-table-name', 'table-not-found'],
  events: [],
});

export const previewWarehouseTable = operation({
  ...tableOperation,
  id: 'previewWarehouseTable',
  path: `${path}/{tableName}/preview`,
  summary: 'Preview the rows of a table',
  description: `Some rows, with long values cut. ${slowRead}`,
  params: Type.Object(tablePath),
  query: Type.Object({
    limit: Type.Integer({ minimum: 1, maximum: previewRowLimit, default: previewDefaultRows }),
    ...agentMember,
  }),
  success: { status: 200, body: TablePreview },
  problems: [...warehouseReadProblems, 'invalid-table-name', 'table-not-found'],
  events: [],
});

export const warehouseTableOperations = [
  listWarehouseTables,
  getWarehouseTable,
  previewWarehouseTable,
] as const;
