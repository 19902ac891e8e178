/** Test fixture: transformations that compute columns, join, aggregate, or look at other rows. */
import { type Components, of, orders, read } from './values-tables-fixture.ts';

const join = (kind: string): Components => ({
  Orders: orders,
  Customers: read('customers'),
  Last: {
    type: 'join',
    sources: ['Orders', 'Customers'],
    parameters: {
      mainTable: 'Orders',
      mainTableAlias: 'o',
      joins: [['Customers', 'c', kind]],
      joinExpressions: [['"o"."customer" = "c"."name" and "c"."score" > 2', `o_${kind}_c`]],
      columnMappings: [
        ['o.amount', 'amount'],
        ['c.city', 'city'],
      ],
    },
  },
});
const window = {
  partitionData: ['customer'],
  orderingWithinPartitions: [
    ['day', 'Ascending'],
    ['id', 'Ascending'],
    ['code', 'Ascending'],
  ],
};

export const columnTransformations: Readonly<Record<string, Components>> = {
  'table-input': { Last: read('orders', ['id', 'amount']) },
  'table-input of all columns': { Last: read('orders') },
  calculator: of('calculator', {
    calculations: [
      ['"amount" * 2 + "tax"', 'gross'],
      ['upper("customer")', 'customer'],
      ['CASE WHEN "tax" > 2 THEN "day" END', 'due'],
    ],
    includeInputColumns: 'Yes',
  }),
  'calculator alone': of('calculator', {
    calculations: [['coalesce("amount", "tax")', 'x']],
    includeInputColumns: 'No',
  }),
  'calculator of windows': of('calculator', {
    calculations: [['sum("amount") over (partition by "customer" order by "id")', 'running']],
  }),
  filter: of('filter', {
    filterConditions: [
      ['amount', 'Is', 'Greater than', '2'],
      ['customer', 'Not', 'Equal to', 'elm'],
    ],
    combineCondition: 'And',
  }),
  rename: of('rename', {
    columnMapping: [
      ['amount', 'price'],
      ['customer', 'who'],
    ],
    includeInputColumns: 'No',
  }),
  'rename with others': of('rename', { columnMapping: [['amount', 'price']], includeInputColumns: 'Yes' }),
  'rename of unknown columns': {
    Orders: { type: 'sql', sources: [], parameters: { query: 'select * from orders' } },
    Last: {
      type: 'rename',
      sources: ['Orders'],
      parameters: { columnMapping: [['amount', 'price']], includeInputColumns: 'Yes' },
    },
  },
  'join left': join('Left'),
  'join inner': join('Inner'),
  'join right': join('Right'),
  'join full': join('Full'),
  aggregate: of('aggregate', {
    groupings: ['customer'],
    aggregations: [
      ['amount', 'Sum'],
      ['tax', 'Max'],
      ['code', 'Count Distinct'],
    ],
  }),
  'aggregate rollup': of('aggregate', {
    groupings: ['customer', 'day'],
    groupingType: 'Group By Rollup',
    aggregations: [['amount', 'Average']],
  }),
  'aggregate of all': of('aggregate', {
    groupings: [],
    aggregations: [
      ['code', 'List Aggregate'],
      ['tax', 'Median'],
    ],
  }),
  rank: of('rank', {
    ...window,
    functions: [
      ['Row Number', 'place'],
      ['Dense Rank', 'rank'],
    ],
    includeInputColumns: 'Yes',
  }),
  'lead-lag': of('lead-lag', {
    ...window,
    functions: [
      ['Lag', 'amount', '1', 'before'],
      ['Lead', 'code', '1', 'after'],
    ],
  }),
  'lead-lag without nulls': of('lead-lag', {
    ...window,
    ignoreNulls: 'Yes',
    functions: [['Lag', 'amount', '1', 'before']],
  }),
  'window-calculation': of('window-calculation', {
    ...window,
    lowerBound: 'unbounded preceding',
    upperBound: 'current row',
    functions: [
      ['Sum', 'amount', 'running'],
      ['First Value', 'tax', 'first tax'],
    ],
  }),
  'first-last': of('first-last', {
    groupingColumns: ['customer'],
    orderingInPartitions: [
      ['day', 'Ascending'],
      ['id', 'Ascending'],
    ],
    firstLastColumns: [
      ['amount', 'First'],
      ['code', 'Last'],
    ],
  }),
};
