/** Test fixture: all transformations whose lineage is checked against values. */
import { columnTransformations } from './values-columns-fixture.ts';
import { type Components, of, orders, read, sql } from './values-tables-fixture.ts';

/** Each with a component `Last`, whose rows become the table `result`. */
export const transformations: Readonly<Record<string, Components>> = {
  ...columnTransformations,
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
