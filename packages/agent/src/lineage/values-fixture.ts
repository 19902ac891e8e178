/** Test fixture: input tables with random values, and transformations over them. */
import type { Random } from './values-random-fixture.ts';

export type Components = Record<string, { type: string; sources?: string[]; parameters: object }>;

const word = (random: Random) => random.pick(['ash', 'birch', 'cedar', 'elm', 'fir', 'oak', 'yew']);
const number = (random: Random) => (random.integer(0, 7) === 0 ? null : random.integer(0, 6));

/** The columns of each table: their type and random values. */
export const tables: Readonly<
  Record<string, Readonly<Record<string, [string, (random: Random) => unknown]>>>
> = {
  orders: {
    id: ['INTEGER', (random) => random.integer(1, 12)],
    customer: ['VARCHAR', word],
    amount: ['INTEGER', number],
    tax: ['INTEGER', number],
    day: ['DATE', (random) => `2026-01-${String(random.integer(1, 9)).padStart(2, '0')}`],
    code: ['VARCHAR', (random) => `${word(random)}-${number(random)}`],
  },
  customers: {
    name: ['VARCHAR', word],
    city: ['VARCHAR', word],
    score: ['INTEGER', number],
  },
  sizes: {
    key: ['INTEGER', (random) => random.integer(1, 12)],
    small: ['INTEGER', number],
    large: ['INTEGER', number],
  },
  target: {
    key: ['INTEGER', (random) => random.integer(1, 12)],
    name: ['VARCHAR', word],
    total: ['INTEGER', number],
  },
  bodies: {
    id: ['INTEGER', number],
    body: [
      'JSON',
      (random) =>
        JSON.stringify({
          who: { name: word(random) },
          items: Array.from({ length: random.integer(0, 3) }, () => ({ price: number(random) })),
        }),
    ],
  },
};

const read = (targetTable: string, columnNames: string[] = []) => ({
  type: 'table-input',
  parameters: { targetTable, columnNames },
});
const orders = read('orders', ['id', 'customer', 'amount', 'tax', 'day', 'code']);
/** One component over the orders. */
const of = (type: string, parameters: object): Components => ({
  Orders: orders,
  Last: { type, sources: ['Orders'], parameters },
});
const sql = (query: string, ...sources: string[]): Components => ({
  ...Object.fromEntries(sources.map((name) => [name, read(name)])),
  Last: { type: 'sql', sources, parameters: { query } },
});
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

/** Each with a component `Last`, whose rows become the table `result`. */
export const transformations: Readonly<Record<string, Components>> = {
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
  unite: {
    A: read('orders', ['id', 'amount']),
    B: read('sizes', ['key', 'small']),
    Renamed: {
      type: 'rename',
      sources: ['B'],
      parameters: {
        columnMapping: [
          ['key', 'id'],
          ['small', 'size'],
        ],
      },
    },
    Last: { type: 'unite', sources: ['A', 'Renamed'], parameters: { method: 'All Columns' } },
  },
  'unite without duplicates': {
    A: read('orders', ['customer']),
    B: read('customers', ['name']),
    Renamed: { type: 'rename', sources: ['B'], parameters: { columnMapping: [['name', 'customer']] } },
    Last: {
      type: 'unite',
      sources: ['A', 'Renamed'],
      parameters: { method: 'All Columns', removeDuplicates: 'Yes' },
    },
  },
  except: {
    A: read('orders', ['customer']),
    B: read('customers', ['name']),
    Last: { type: 'except', sources: ['A', 'B'], parameters: { primaryTable: 'A' } },
  },
  intersect: {
    A: read('orders', ['customer']),
    B: read('customers', ['name']),
    Last: { type: 'intersect', sources: ['A', 'B'], parameters: {} },
  },
  distinct: of('distinct', { columns: ['customer', 'tax'] }),
  limit: of('limit', {
    limit: '4',
    orderBy: [
      ['amount', 'Descending'],
      ['code', 'Ascending'],
      ['id', 'Ascending'],
    ],
  }),
  order: of('order', { orderBy: [['amount', 'Descending']] }),
  replicate: of('replicate', {}),
  'convert-type': of('convert-type', {
    conversions: [
      ['amount', 'VARCHAR'],
      ['day', 'TIMESTAMP'],
    ],
  }),
  'map-values': of('map-values', {
    valueMap: [
      ['amount', 'Is', 'Greater than', '3', 'large'],
      ['tax', 'Is', 'Equal to', '0', 'free'],
    ],
    columnName: 'size',
    other: 'small',
  }),
  'split-field': of('split-field', {
    inputColumn: 'code',
    delimiter: '-',
    outputColumns: [
      ['0', 'tree'],
      ['1', 'digit'],
    ],
    includeInputColumn: 'No',
  }),
  'construct-variant': of('construct-variant', {
    columnMappings: [
      ['customer', 'who'],
      ['amount', 'price'],
    ],
    outputSlot: 'object',
  }),
  'detect-changes': {
    Master: read('sizes'),
    Other: {
      type: 'sql',
      sources: [],
      parameters: { query: 'select id as key, amount as small, tax as large from orders' },
    },
    Last: {
      type: 'detect-changes',
      sources: ['Master', 'Other'],
      parameters: {
        masterTable: 'Master',
        matchKeys: ['key'],
        compareColumns: ['small'],
        outputColumnMapping: [['compare_large', 'large']],
        indicatorColumn: 'change',
      },
    },
  },
  pivot: {
    Orders: read('orders', ['day', 'customer', 'amount']),
    Last: {
      type: 'pivot',
      sources: ['Orders'],
      parameters: {
        aggregateFunction: 'Sum',
        pivotColumn: 'amount',
        valueColumn: 'customer',
        pivotValues: ['ash', 'elm'],
      },
    },
  },
  unpivot: {
    Sizes: read('sizes', ['key', 'small', 'large']),
    Last: {
      type: 'unpivot',
      sources: ['Sizes'],
      parameters: {
        columnsToNarrow: ['small', 'large'],
        outputNamesColumnName: 'size',
        outputValuesColumnName: 'value',
      },
    },
  },
  'transpose-columns': {
    Sizes: read('sizes', ['key', 'small', 'large']),
    Last: {
      type: 'transpose-columns',
      sources: ['Sizes'],
      parameters: {
        ordinaryColumns: ['key'],
        rowLabelName: 'size',
        outputColumns: [['value', 'NUMBER']],
        columnToRowMapping: [
          ['s', 'small'],
          ['l', 'large'],
        ],
      },
    },
  },
  'transpose-rows': of('transpose-rows', { groupings: ['customer'], aggregations: ['amount', 'code'] }),
  'flatten-variant': {
    Bodies: read('bodies', ['id', 'body']),
    Last: {
      type: 'flatten-variant',
      sources: ['Bodies'],
      parameters: {
        includeInputColumns: 'No',
        columnFlattens: [['body', 'items', 'i', 'No', 'No', 'Both']],
        columnMapping: [
          ['body', 'who.name', 'VARCHAR', 'who'],
          ['i', 'price', 'NUMBER', 'price'],
          ['id', '', 'NUMBER', 'id'],
        ],
      },
    },
  },
  'extract-nested-data': {
    Bodies: read('bodies', ['id', 'body']),
    Last: {
      type: 'extract-nested-data',
      sources: ['Bodies'],
      parameters: {
        includeInputColumns: 'Yes',
        columns: [
          {
            ...{
              name: 'who',
              columnName: 'body',
              aliasName: 'who',
              datatype: 'VARIANT',
              isArray: 'false',
              include: 'false',
            },
            childElements: [
              {
                name: 'name',
                columnName: 'body',
                aliasName: 'who_name',
                datatype: 'VARCHAR',
                isArray: 'false',
                include: 'true',
              },
            ],
          },
        ],
      },
    },
  },
  'multi-table-input': {
    Last: {
      type: 'multi-table-input',
      sources: [],
      parameters: { pattern: 'size%', patternType: 'Like', columns: ['key', 'small'], addSourceTable: 'Yes' },
    },
  },
  'fixed-flow and sequence': {
    Fixed: {
      type: 'fixed-flow',
      sources: [],
      parameters: {
        columns: [
          ['tree', 'VARCHAR'],
          ['rate', 'NUMBER'],
        ],
        values: [
          ['ash', '2'],
          ['elm', '3'],
        ],
      },
    },
    Months: {
      type: 'generate-sequence',
      sources: [],
      parameters: { startValue: '1', incrementValue: '1', endValue: '3', outputColumn: 'month' },
    },
    Orders: orders,
    Last: {
      type: 'sql',
      sources: ['Fixed', 'Months', 'Orders'],
      parameters: {
        query:
          'select o.amount * f.rate as rated, m.month from $T{Orders} o join $T{Fixed} f on f.tree = o.customer cross join $T{Months} m',
      },
    },
  },
  'sql of common tables': sql(
    'with big as (select customer, sum(amount) as s from $T{orders} where tax > 1 group by 1) select c.city, b.s + c.score as total from big b join $T{customers} c on c.name = b.customer',
    'orders',
    'customers',
  ),
  'sql of subqueries': sql(
    'select name, (select max(amount) from $T{orders} o where o.customer = c.name) as most from $T{customers} c where exists (select 1 from $T{orders} p where p.customer = c.name and p.tax > 2)',
    'orders',
    'customers',
  ),
  'sql with qualify': sql(
    'select code, day from $T{orders} qualify row_number() over (partition by customer order by amount desc, id) = 1',
    'orders',
  ),
  'sql of lists': sql(
    'select name, array_agg(score) as scores, listagg(city) within group (order by score, city) as cities from $T{customers} group by name',
    'customers',
  ),
  'a chain of components': {
    Orders: orders,
    Large: {
      type: 'filter',
      sources: ['Orders'],
      parameters: { filterConditions: [['amount', 'Is', 'Greater than', '1']], combineCondition: 'And' },
    },
    Taxed: {
      type: 'calculator',
      sources: ['Large'],
      parameters: { calculations: [['"amount" + "tax"', 'gross']], includeInputColumns: 'Yes' },
    },
    Named: {
      type: 'rename',
      sources: ['Taxed'],
      parameters: {
        columnMapping: [
          ['gross', 'g'],
          ['customer', 'c'],
          ['code', 'code'],
        ],
      },
    },
    Last: {
      type: 'aggregate',
      sources: ['Named'],
      parameters: {
        groupings: ['c'],
        aggregations: [
          ['g', 'Sum'],
          ['code', 'Min'],
        ],
      },
    },
  },
};

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
