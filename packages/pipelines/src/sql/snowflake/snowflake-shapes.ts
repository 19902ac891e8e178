/** The parts of Snowflake's SQL that change which columns or rows there are. All columns are named. */
import { type Dialect, type GroupEnds, SqlError, type UnpivotedRows } from '../dialect/dialect.ts';
import { createPostgresShapes } from '../postgres/postgres-shapes.ts';

type Shapes = Pick<
  Dialect,
  | 'columnsReplaced'
  | 'columnsWithout'
  | 'uniteByName'
  | 'pivot'
  | 'unpivot'
  | 'aggregate'
  | 'firstOrLast'
  | 'groupEnds'
  | 'countUp'
  | 'gatherTexts'
>;

export function createSnowflakeShapes(
  name: (identifier: string) => string,
  quote: (text: string) => string,
): Shapes {
  /** Not by UNPIVOT, which gives the names of columns in letters that depend on how they were made. */
  function unpivot({ from, kept, narrowed, name: names, value }: UnpivotedRows): string {
    if (kept === undefined)
      throw new SqlError('the columns of a source are not known: name them in its component');
    const labels = narrowed.map(
      (column, index) => `SELECT ${quote(column)}${index === 0 ? ' AS "label"' : ''}`,
    );
    const cases = narrowed.map((column) => `WHEN ${quote(column)} THEN "rows".${name(column)}`);
    const columns = [
      ...kept.map((each) => `"rows".${name(each)}`),
      `"labels"."label" AS ${name(names)}`,
      `CASE "labels"."label" ${cases.join(' ')} END AS ${name(value)}`,
    ];
    return `SELECT * FROM (\nSELECT ${columns.join(', ')}\nFROM ${from} AS "rows"\nCROSS JOIN (${labels.join(' UNION ALL ')}) AS "labels"\n) AS "narrow"\nWHERE ${name(value)} IS NOT NULL`;
  }

  return {
    // The type of a NULL follows from the other parts of a union.
    ...createPostgresShapes(name, quote, 'VARCHAR', () => 'NULL'),
    unpivot,
    aggregate: renderAggregate,
    groupEnds: renderGroupEnds,
    countUp: (start, end, step, column) => renderNumbers(start, end, step, name(column)),
    gatherTexts: (text, separator, order) => `listagg(${text}, '${separator}') WITHIN GROUP (${order})`,
  };
}

/** ARRAY_AGG would lose the types, and MIN_BY takes no order of several columns. */
function renderGroupEnds({ from, keys, order, columns, ignoresNulls }: GroupEnds): string {
  const frame = 'ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING';
  const partition = keys.length === 0 ? '' : `PARTITION BY ${keys.join(', ')} `;
  const window = `${partition}ORDER BY ${order.length === 0 ? 'NULL' : order.join(', ')} ${frame}`;
  const nulls = ignoresNulls ? ' IGNORE NULLS' : '';
  const values = columns.map(
    ({ side, column, name }) => `${side}_value(${column})${nulls} OVER (${window}) AS ${name}`,
  );
  return `SELECT DISTINCT ${[...keys, ...values].join(', ')}\nFROM ${from}`;
}

function renderNumbers(start: number, end: number, step: number, column: string): string {
  const count = Math.max(0, Math.floor((end - start) / step) + 1);
  // SEQ4 may have gaps.
  const index = '(row_number() OVER (ORDER BY NULL) - 1)';
  return `SELECT ${start} + ${index} * ${step < 0 ? `(${step})` : step} AS ${column} FROM TABLE(GENERATOR(ROWCOUNT => ${count}))`;
}

const named: Readonly<Record<string, string>> = {
  skew: 'skew',
  'bit and': 'bitand_agg',
  'bit or': 'bitor_agg',
  'bit xor': 'bitxor_agg',
  'bit and aggregate': 'bitand_agg',
  'bit or aggregate': 'bitor_agg',
  'bit xor aggregate': 'bitxor_agg',
  'boolean and': 'booland_agg',
  'boolean or': 'boolor_agg',
  'array aggregate': 'array_agg',
};

function renderAggregate(word: string, column: string, over: string): string | undefined {
  if (word === 'list aggregate' || word === 'listagg')
    return `listagg(CAST(${column} AS VARCHAR), ',')${over}`;
  if (word === 'array aggregate distinct') return `array_agg(DISTINCT ${column})${over}`;
  const own = Object.hasOwn(named, word) ? named[word] : undefined;
  return own === undefined ? undefined : `${own}(${column})${over}`;
}
