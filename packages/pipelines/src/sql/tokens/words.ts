/** The words of SQL that are no names of columns or functions. */
import { isGroup, isWord, type Node } from './tree.ts';

/** Words that are never a column or a function. */
const reserved = new Set([
  'ALL',
  'AND',
  'ANTI',
  'AS',
  'ASC',
  'ASOF',
  'BETWEEN',
  'BY',
  'CONNECT',
  'CROSS',
  'DESC',
  'DISTINCT',
  'ELSE',
  'END',
  'ESCAPE',
  'EXCEPT',
  'EXCLUDE',
  'EXISTS',
  'FETCH',
  'FILTER',
  'FOR',
  'FROM',
  'FULL',
  'GROUP',
  'GROUPING',
  'HAVING',
  'ILIKE',
  'IN',
  'INNER',
  'INTERSECT',
  'INTO',
  'IS',
  'JOIN',
  'LATERAL',
  'LIKE',
  'LIMIT',
  'MATERIALIZED',
  'MINUS',
  'NATURAL',
  'NOT',
  'NOTNULL',
  'NULLS',
  'OFFSET',
  'ON',
  'OR',
  'ORDER',
  'OUTER',
  'OVER',
  'PARTITION',
  'POSITIONAL',
  'QUALIFY',
  'RENAME',
  'RETURNING',
  'SEMI',
  'SELECT',
  'SET',
  'SIMILAR',
  'SOME',
  'THEN',
  'UNION',
  'USING',
  'VALUES',
  'WHEN',
  'WHERE',
  'WINDOW',
  'WITH',
]);

/** Words that are a function only with a parenthesis, and a keyword otherwise. */
const functionsOrWords = new Set([
  'ISNULL',
  'RLIKE',
  'LEFT',
  'RIGHT',
  'REPLACE',
  'ANY',
  'GLOB',
  'SAMPLE',
  'TABLESAMPLE',
]);

export function isReserved(nodes: readonly Node[], at: number): boolean {
  const node = nodes[at];
  if (node?.kind !== 'word') return false;
  if (reserved.has(node.value)) return true;
  // `SELECT * REPLACE (a AS b)` is no call.
  const group = nodes[at + 1];
  if (node.value === 'REPLACE' && isGroup(group) && group.nodes.some((each) => isWord(each, 'AS')))
    return true;
  return functionsOrWords.has(node.value) && !isGroup(nodes[at + 1]);
}

export const literalTypes = new Set([
  'DATE',
  'DATETIME',
  'INTERVAL',
  'TIME',
  'TIMESTAMP',
  'TIMESTAMPTZ',
  'TIMESTAMP_LTZ',
  'TIMESTAMP_NTZ',
  'TIMESTAMP_TZ',
]);

/** Words that begin a clause after the tables of FROM. */
export const clauseWords = new Set([
  'CONNECT',
  'EXCEPT',
  'FETCH',
  'GROUP',
  'HAVING',
  'INTERSECT',
  'LIMIT',
  'MINUS',
  'OFFSET',
  'ORDER',
  'QUALIFY',
  'RETURNING',
  'SELECT',
  'SET',
  'START',
  'UNION',
  'WHEN',
  'WHERE',
  'WINDOW',
]);

/** Words that cannot be the alias of a table. */
export const notAliases = new Set([
  ...clauseWords,
  'ANTI',
  'ASOF',
  'CROSS',
  'FULL',
  'INNER',
  'JOIN',
  'LEFT',
  'MATCH_CONDITION',
  'NATURAL',
  'ON',
  'PIVOT',
  'POSITIONAL',
  'RIGHT',
  'SAMPLE',
  'SEMI',
  'TABLESAMPLE',
  'UNPIVOT',
  'USING',
  'AT',
  'BEFORE',
  'CHANGES',
  'MATCH_RECOGNIZE',
  'AS',
  'VALUES',
  'LATERAL',
  'FOR',
]);

/** Words that DuckDB reserves and the vendors do not. As the name of a column they need quotes. */
export const reservedInDuckdb: ReadonlySet<string> = new Set(
  'ANALYSE ANALYZE ARRAY ASYMMETRIC AT BOTH COLLATE DEFERRABLE DESC DESCRIBE DO END INITIALLY LAMBDA LEADING LIMIT OFFSET ONLY PIVOT PLACING SHOW SUMMARIZE SYMMETRIC TO TRAILING UNPIVOT VARIADIC WINDOW'.split(
    ' ',
  ),
);

/** Of these the ones that stand alone only as a column. */
export const quotedColumns: ReadonlySet<string> = new Set(
  'ANALYSE ANALYZE DESCRIBE ONLY PLACING SHOW SUMMARIZE VARIADIC'.split(' '),
);
