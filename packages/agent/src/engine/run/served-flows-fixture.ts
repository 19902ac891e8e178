/** Transformations that give the same rows in all warehouses. */
import { readTable } from './flow-fixture.ts';

export type Components = Record<string, object>;

const apply = (type: string, parameters: object, table = 'sales'): Components => ({
  In: readTable(table),
  Last: { type, sources: ['In'], parameters },
});
const both = (type: string, parameters: object): Components => ({
  One: readTable('sales', ['region', 'id', 'amount']),
  Two: readTable('later'),
  Last: { type, sources: ['One', 'Two'], parameters },
});

const filter = (...condition: string[]) =>
  apply('filter', { filterConditions: [condition], combineCondition: 'And' });

export const flows: Record<string, Components> = {
  'table-input': { Last: readTable('sales') },
  'table-input of some columns': { Last: readTable('sales', ['id', 'note']) },
  'fixed-flow': {
    Last: {
      type: 'fixed-flow',
      parameters: {
        columns: [
          ['id', 'NUMBER', '10', '0'],
          ['name', 'VARCHAR'],
          ['day', 'DATE'],
        ],
        values: [
          ['1', "O'Hara", '2030-01-02'],
          ['2', '', ''],
        ],
      },
    },
  },
  'generate-sequence': {
    Last: {
      type: 'generate-sequence',
      parameters: { outputColumn: 'n', startValue: '1', incrementValue: '2', endValue: '9' },
    },
  },
  'filter by a number': filter('amount', 'Is', 'Greater than', '15'),
  'filter by a fraction': filter('price', 'Is', 'Greater than or equal to', '1.5'),
  'filter whole numbers by a fraction': filter('amount', 'Is', 'Less than', '20.5'),
  'filter texts by a fraction': filter('note', 'Is', 'Equal to', '1.5'),
  'filter by a text': filter('region', 'Not', 'Equal to', 'a'),
  'filter by a column': {
    In: readTable('sales', ['id', 'amount']),
    Last: {
      type: 'filter',
      sources: ['In'],
      parameters: { filterConditions: [['amount', 'Is', 'Greater than', 'id']], combineCondition: 'And' },
    },
  },
  'filter by Like': filter('note', 'Is', 'Like', '%100\\%'),
  'filter by a part': filter('note', 'Is', 'Contains', '100%'),
  'filter by a beginning': filter('note', 'Is', 'Starts with', 'x'),
  'filter by an end': filter('note', 'Is', 'Ends with', 'y'),
  'filter by Similar to': filter('note', 'Is', 'Similar to', '(x|z)%'),
  'filter by NULL': filter('amount', 'Is', 'Null', ''),
  'filter by a blank': filter('note', 'Is', 'Null or blank', ''),
  'filter by a list': filter('region', 'Is', 'In', "a, 'c'"),
  'filter by a list of fractions': filter('price', 'Is', 'In', '0.5, 1.5'),
  'filter by a range': filter('id', 'Is', 'Between', '2 and 4'),
  calculator: apply('calculator', {
    calculations: [
      ['amount * 2', 'twice'],
      ['upper(region)', 'region'],
    ],
  }),
  'calculator without the source': apply('calculator', {
    calculations: [['id + 1', 'next']],
    includeInputColumns: 'No',
  }),
  aggregate: apply('aggregate', {
    groupings: ['region'],
    aggregations: [
      ...['Sum', 'Count', 'Average', 'Min', 'Max', 'Median', 'Standard Deviation', 'Variance'],
      ...['Count Distinct', 'Any Value', 'Approximate Count Distinct'],
    ].map((word) => [word === 'Any Value' ? 'region' : 'amount', word]),
  }),
  'aggregate of all': apply('aggregate', { groupings: [], aggregations: [['*', 'Count', 'n']] }),
  'aggregate with subtotals': apply('aggregate', {
    groupings: ['region', 'amount'],
    aggregations: [['id', 'Sum']],
    groupingType: 'Group By Cube',
  }),
  rename: apply('rename', {
    columnMapping: [
      ['id', 'number'],
      ['region', 'area'],
    ],
    includeInputColumns: 'Yes',
  }),
  'rename only': apply('rename', { columnMapping: [['id', 'number']], includeInputColumns: 'No' }),
  rank: apply('rank', {
    includeInputColumns: 'Yes',
    partitionData: ['region'],
    orderingWithinPartitions: [['amount', 'Descending']],
    functions: [
      ['Rank', 'r'],
      ['Row Number', 'n'],
    ],
  }),
  'window-calculation': apply('window-calculation', {
    partitionData: ['region'],
    orderingWithinPartitions: [['id', 'Ascending']],
    lowerBound: 'unbounded preceding',
    upperBound: 'current row',
    functions: [
      ['Sum', 'amount', 'total'],
      ['First Value', 'id', 'first'],
    ],
  }),
  'lead-lag': apply('lead-lag', {
    partitionData: [],
    orderingWithinPartitions: [['id', 'Ascending']],
    functions: [['Lag', 'amount', '1', 'before']],
  }),
  'first-last': apply('first-last', {
    groupingColumns: ['region'],
    orderingInPartitions: [['id', 'Ascending']],
    firstLastColumns: [
      ['amount', 'First', 'first'],
      ['amount', 'Last', 'last'],
    ],
    ignoreNulls: 'Yes',
  }),
  distinct: apply('distinct', { columns: ['region'] }),
  limit: apply('limit', { limit: '2', offset: '1', orderBy: [['id', 'Descending']] }),
  join: {
    One: readTable('sales'),
    Two: readTable('later'),
    Last: {
      type: 'join',
      sources: ['One', 'Two'],
      parameters: {
        mainTable: 'One',
        mainTableAlias: 's',
        joins: [['Two', 'l', 'Full']],
        joinExpressions: [['"s"."id" = "l"."id"', 's_Full_l']],
        columnMappings: [
          ['s.id', 'id'],
          ['l.amount', 'amount'],
        ],
      },
    },
  },
  unite: {
    One: readTable('later', ['id', 'amount']),
    Two: readTable('sales', ['region', 'id']),
    Last: { type: 'unite', sources: ['One', 'Two'], parameters: { addSourceComponentColumn: 'Yes' } },
  },
  'unite common columns': {
    ...both('unite', { method: 'Common Columns', removeDuplicates: 'Yes' }),
  },
  'unite of whole tables': {
    One: readTable('later'),
    Two: readTable('wide'),
    Last: { type: 'unite', sources: ['One', 'Two'], parameters: {} },
  },
  except: both('except', { primaryTable: 'One' }),
  intersect: both('intersect', {}),
  'detect-changes': both('detect-changes', {
    masterTable: 'One',
    matchKeys: ['id'],
    compareColumns: ['amount'],
    indicatorColumn: 'change',
  }),
  'map-values': apply('map-values', {
    valueMap: [
      ['amount', 'Is', 'Greater than', '15', 'large'],
      ['amount', 'Is', 'Null', '', 'unknown'],
    ],
    other: 'small',
    columnName: 'size',
  }),
  'convert-type': apply('convert-type', {
    conversions: [
      ['id', 'VARCHAR'],
      ['price', 'NUMBER', '10', '1'],
    ],
  }),
  'split-field': apply('split-field', {
    inputColumn: 'note',
    delimiter: ',',
    outputColumns: [['first'], ['second']],
    includeInputColumn: 'No',
  }),
  pivot: apply(
    'pivot',
    {
      aggregateFunction: 'Sum',
      pivotColumn: 'amount',
      valueColumn: 'region',
      pivotValues: ['a', 'b'],
    },
    'later',
  ),
  unpivot: apply(
    'unpivot',
    {
      columnsToNarrow: ['q1', 'q2'],
      outputNamesColumnName: 'quarter',
      outputValuesColumnName: 'amount',
    },
    'wide',
  ),
  'transpose-columns': apply(
    'transpose-columns',
    {
      ordinaryColumns: ['id'],
      rowLabelName: 'quarter',
      outputColumns: [['amount', 'NUMBER']],
      columnToRowMapping: [
        ['first', 'q1'],
        ['second', 'q2'],
      ],
    },
    'wide',
  ),
  'transpose-rows': apply('transpose-rows', { groupings: ['region'], aggregations: ['id'] }),
  sql: apply('sql', { query: 'select region, count(*) as n from $T{In} group by region' }),
  'multi-table-input': {
    Last: { type: 'multi-table-input', parameters: { pattern: 'lat%', addSourceTable: 'Yes' } },
  },
  'multi-table-input of several tables': {
    Last: {
      type: 'multi-table-input',
      parameters: { pattern: '(later|wide)', patternType: 'Regex', addSourceTable: 'Yes' },
    },
  },
  'assert-view': {
    In: readTable('sales'),
    Last: {
      type: 'assert-view',
      sources: ['In'],
      parameters: {
        rowCountComparisonType: 'Equal To',
        lowerValue: '5',
        metadata: [['region'], ['id'], ['amount'], ['price'], ['note']],
      },
    },
  },
};
