/** Rules about queries: what they select, join, group and compare. */
import type { Plain } from '../../format/pipeline.ts';
import type { Token } from '../../sql/tokens/tokens.ts';
import { listRows } from '../facts/reviewed-pipeline.ts';
import {
  expressionName,
  findClose,
  isName,
  isSymbol,
  isWord,
  readName,
  type SelectBlock,
  type SqlStatement,
} from '../facts/sql-statements.ts';
import { createPointer, type FixStep, type PipelineRule, quote } from './rule.ts';
import { checkStatements } from './statement-findings.ts';

export const selectStar: PipelineRule = {
  id: 'select-star',
  scope: 'pipeline',
  title: 'A query names its columns',
  level: 'INFO',
  reason:
    'The columns of `select *` are those that the table has today. A new column reaches tables and files that do not expect it, and a removed one is only noticed where it is missing.',
  remedy: 'Name the columns. `select *` from a subquery or a WITH clause that names them is fine.',
  parameters: {},
  bad: `type: transformation
pipeline:
  components:
    Orders: {type: sql, parameters: {query: "select * from orders"}}`,
  good: `type: transformation
pipeline:
  components:
    Orders: {type: sql, parameters: {query: "select id, amount from orders"}}`,
  check({ components }, report) {
    checkStatements(components, findStar, ({ name }, parameter, table) =>
      report({
        component: name,
        at: ['parameters', parameter],
        message: `the component ${quote(name)} selects all columns of ${quote(table)}: name the columns`,
      }),
    );
  },
};

/** The table from which a SELECT takes all columns. */
function findStar(statement: SqlStatement): string | undefined {
  for (const block of statement.selects) {
    const { items, from, at } = block;
    if (!items.some((item) => isSymbol(item.at(-1), '*') || isSymbol(item[0], '*') || isStarOf(item)))
      continue;
    // EXISTS (SELECT * …) has no columns, and SHOW and DESCRIBE give what they give.
    if (isSymbol(statement.tokens[at - 1], '(') && isWord(statement.tokens[at - 2], 'EXISTS')) continue;
    const table = readName(from, 0);
    if (
      table === undefined ||
      isSymbol(from[table.next], '(') ||
      isWord(from[0], 'TABLE', 'LATERAL', 'VALUES')
    )
      continue;
    const name = table.parts.join('.').replaceAll(expressionName, '…');
    if (table.parts.length === 1 && statement.commonTables.has(name.toLowerCase())) continue;
    // The columns of a source are those of the pipeline.
    if (table.parts.includes(expressionName)) continue;
    return name;
  }
  return undefined;
}

/** `*` or `t.*` alone; a multiplication has something before and after it. */
function isStarOf(item: readonly Token[]): boolean {
  return isSymbol(item.at(-1), '*') && (item.length === 1 || isSymbol(item.at(-2), '.'));
}

const aggregates = [
  'SUM',
  'COUNT',
  'AVG',
  'MIN',
  'MAX',
  'STDDEV',
  'VARIANCE',
  'MEDIAN',
  'LISTAGG',
  'ARRAY_AGG',
  'STRING_AGG',
];

export const missingGrouping: PipelineRule = {
  id: 'missing-grouping',
  scope: 'pipeline',
  title: 'A column beside an aggregation is grouped',
  level: 'ERROR',
  reason:
    'A query that lists a column beside an aggregation must group by it. Warehouses refuse the query, or take the value of any row.',
  remedy: 'Add the column to GROUP BY, or aggregate it.',
  parameters: {},
  bad: `type: transformation
pipeline:
  components:
    Sums: {type: sql, parameters: {query: "select country, city, sum(amount) from orders group by country"}}`,
  good: `type: transformation
pipeline:
  components:
    Sums: {type: sql, parameters: {query: "select country, city, sum(amount) from orders group by country, city"}}`,
  check({ components }, report) {
    const find = ({ selects }: SqlStatement) =>
      selects.map(findUngrouped).find((column) => column !== undefined);
    checkStatements(components, find, ({ name }, parameter, column) =>
      report({
        component: name,
        at: ['parameters', parameter],
        message: `the query of ${quote(name)} lists the column ${quote(column)} beside an aggregation and does not group by it: add it to GROUP BY`,
      }),
    );
  },
};

function findUngrouped({ items, groupBy }: SelectBlock): string | undefined {
  if (!items.some(hasAggregate) || groupBy?.some((token) => isWord(token, 'ALL')) === true) return undefined;
  for (const [index, item] of items.entries()) {
    // `DISTINCT a` and `TOP 3 a`.
    const start = isWord(item[0], 'DISTINCT', 'ALL') ? 1 : 0;
    const column = readColumn(item.slice(start));
    if (column === undefined) continue;
    const grouped = groupBy ?? [];
    const isGrouped = grouped.some(
      (token) =>
        (token.kind === 'number' && token.value === String(index + 1)) ||
        (isName(token) &&
          [column.name, column.alias].some((each) => each?.toLowerCase() === token.text.toLowerCase())),
    );
    // An expression of GROUP BY may stand for the column.
    if (!isGrouped && !grouped.some((token) => token.text === expressionName)) return column.name;
  }
  return undefined;
}

function hasAggregate(item: readonly Token[]): boolean {
  return item.some((token, at) => {
    if (!isWord(token, ...aggregates) || !isSymbol(item[at + 1], '(') || isSymbol(item[at - 1], '.'))
      return false;
    let after = findClose(item, at + 1) + 1;
    while (isWord(item[after], 'FILTER', 'WITHIN', 'GROUP'))
      after = findClose(item, item.indexOf(item[after] as Token) + 1) + 1;
    // A window function needs no grouping, nor does one in a subquery.
    return !isWord(item[after], 'OVER', 'WITHIN', 'FILTER', 'IGNORE', 'RESPECT') && !isInSubquery(item, at);
  });
}

const isInSubquery = (item: readonly Token[], at: number) =>
  item.slice(0, at).some((token) => isWord(token, 'SELECT'));

const valueWords = [
  'NULL',
  'TRUE',
  'FALSE',
  'CURRENT_DATE',
  'CURRENT_TIMESTAMP',
  'CURRENT_TIME',
  'CURRENT_USER',
  'SYSDATE',
  'GETDATE',
  'LOCALTIMESTAMP',
];

/** An item that is a column with or without an alias. */
function readColumn(item: readonly Token[]): { name: string; alias: string | undefined } | undefined {
  const name = readName(item, 0);
  if (name === undefined || isWord(item[0], ...valueWords) || name.parts.includes(expressionName))
    return undefined;
  const rest = item.slice(name.next);
  const alias =
    rest.length === 2 && isWord(rest[0], 'AS') ? rest[1] : rest.length === 1 ? rest[0] : undefined;
  if (rest.length > 0 && !isName(alias)) return undefined;
  const column = name.parts.at(-1) ?? '';
  return column === '' ? undefined : { name: column, alias: alias?.text };
}

export const nullComparisons: PipelineRule = {
  id: 'null-comparisons',
  scope: 'pipeline',
  title: 'NULL is not compared with = or <>',
  level: 'ERROR',
  reason:
    'In SQL nothing equals NULL, and nothing differs from it. A condition such as `x = NULL` or `x <> NULL` holds for no row at all.',
  remedy: 'Write `x IS NULL` or `x IS NOT NULL`; in a filter use the comparator Null.',
  fixes: 'uses the comparator Null in a filter',
  parameters: {},
  bad: `type: transformation
pipeline:
  components:
    Orders: {type: sql, parameters: {query: "select id from orders where paid <> null"}}`,
  good: `type: transformation
pipeline:
  components:
    Orders: {type: sql, parameters: {query: "select id from orders where paid is not null"}}`,
  check({ components }, report) {
    checkStatements(components, findNullComparison, ({ name }, parameter, found) =>
      report({
        component: name,
        at: ['parameters', parameter],
        message: `a condition of ${quote(name)} compares with NULL (${quote(found)}), which holds for no row: use IS NULL or IS NOT NULL`,
      }),
    );
    for (const { name, type, parameters } of components.filter((each) => each.type === 'filter')) {
      const rows = listRows(parameters.filterConditions);
      for (const [index, row] of rows.entries()) {
        if (
          type !== 'filter' ||
          (row[3] ?? '').trim().toLowerCase() !== 'null' ||
          !/equal|than/i.test(row[2] ?? '')
        )
          continue;
        const message = `the condition on ${quote(row[0] ?? '')} of ${quote(name)} compares with NULL, which holds for no row: use the comparator Null`;
        report({
          component: name,
          at: ['parameters', 'filterConditions'],
          message,
          ...fixCondition(name, index, row),
        });
      }
    }
  },
};

function fixCondition(component: string, index: number, row: readonly string[]): { fix?: FixStep[] } {
  if (!/^(?:not )?equal to$/i.test(row[2] ?? '')) return {};
  const isNegated = /^not$/i.test(row[1] ?? '') !== /^not/i.test(row[2] ?? '');
  const value: Plain = [row[0] ?? '', isNegated ? 'Not' : 'Is', 'Null', ''];
  const path = createPointer(['pipeline', 'components', component, 'parameters', 'filterConditions', index]);
  return { fix: [{ op: 'replace', path, value }] };
}

/** Words that begin a condition, and those that end it. */
const conditionStarts = ['WHERE', 'ON', 'HAVING', 'QUALIFY', 'WHEN', 'IFF'];
const conditionEnds = [
  'SET',
  'SELECT',
  'THEN',
  'VALUES',
  'GROUP',
  'ORDER',
  'INSERT',
  'CREATE',
  'FROM',
  'END',
  'ELSE',
];

function findNullComparison({ tokens }: SqlStatement): string | undefined {
  let isCondition = false;
  for (const [at, token] of tokens.entries()) {
    if (isWord(token, ...conditionStarts)) isCondition = true;
    else if (isWord(token, ...conditionEnds)) isCondition = false;
    if (!isCondition || !isSymbol(token, '=', '<>', '!=', '==')) continue;
    if (isWord(tokens[at + 1], 'NULL')) return `${tokens[at - 1]?.text ?? ''} ${token.value} NULL`;
  }
  return undefined;
}
