/** The check before a MERGE: DuckDB lets the last of several updates of a row win, whichever it is. */

import type { CheckedMerge } from './dialect.ts';

const fault =
  'several rows of the source match the same row of the table: make the rows of the source distinct, or the conditions stricter';

/**
 * A query that fails if a row would be updated and also updated or deleted by another row of the source. The rows
 * are numbered, because the table is a view as long as a test only reads it.
 */
export function renderMergeCheck({ table, alias, source, condition, rules }: CheckedMerge): string {
  const cases = rules.map((rule) => `WHEN ${rule.condition ?? 'TRUE'} THEN '${rule.action}'`);
  return `SELECT error('${fault}') FROM (
SELECT count(*) FILTER (WHERE "headgate_action" = 'update') AS updates, count(*) AS matches
FROM (SELECT ${alias}."headgate_row", CASE ${cases.join(' ')} END AS "headgate_action"
FROM (SELECT *, row_number() OVER () AS "headgate_row" FROM ${table}) AS ${alias} JOIN ${source} ON ${condition})
WHERE "headgate_action" <> 'none'
GROUP BY "headgate_row"
) WHERE updates >= 1 AND matches > 1 LIMIT 1`;
}
