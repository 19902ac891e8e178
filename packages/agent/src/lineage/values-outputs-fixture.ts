/** Test fixture: outputs whose lineage is checked against values. */
import { type Components, orders } from './values-tables-fixture.ts';

/** Outputs that change a table which is there: `target (key, name, total)`. */
export const outputs: Readonly<Record<string, Components>> = {
  'table-output': {
    Orders: orders,
    Out: {
      type: 'table-output',
      sources: ['Orders'],
      parameters: {
        targetTable: 'target',
        outputMode: 'Append',
        columnMapping: [
          ['id', 'key'],
          ['amount', 'total'],
        ],
      },
    },
  },
  'table-output that truncates': {
    Orders: orders,
    Out: {
      type: 'table-output',
      sources: ['Orders'],
      parameters: {
        targetTable: 'target',
        outputMode: 'Truncate',
        columnMapping: [
          ['customer', 'name'],
          ['tax', 'total'],
        ],
      },
    },
  },
  'table-update': {
    Sizes: {
      type: 'sql',
      sources: [],
      parameters: {
        query: 'select id as key, min(customer) as name, sum(amount) as total from orders group by 1',
      },
    },
    Out: {
      type: 'table-update',
      sources: ['Sizes'],
      parameters: {
        targetTable: 'target',
        targetAlias: 'target',
        sourceAlias: 'input',
        joinExpression: [['"input"."key" = "target"."key"', 'Case']],
        whenMatched: [['"input"."total" > 3', 'Update']],
        updateMapping: [['total', 'total']],
        includeNotMatched: 'Yes',
        insertMapping: [
          ['key', 'key'],
          ['name', 'name'],
          ['total', 'total'],
        ],
      },
    },
  },
  'create-view': {
    Orders: orders,
    Sums: {
      type: 'aggregate',
      sources: ['Orders'],
      parameters: { groupings: ['customer'], aggregations: [['amount', 'Sum']] },
    },
    Out: { type: 'create-view', sources: ['Sums'], parameters: { viewName: 'result_view' } },
  },
};
