/**
 * MERGE. DuckDB's is written in the same way, but takes no table before a column that is set or inserted, and
 * does not mind if several rows of the source update one row.
 */
import { Cursor } from '../cursor.ts';
import { copyNodes, copyText, type Frame, refuse } from '../frame.ts';
import { renderTable } from '../tables.ts';
import { quoteNames, quoteText } from '../tokens.ts';
import {
  findChainEnd,
  type Group,
  hasWords,
  isGroup,
  isName,
  isWord,
  type Node,
  splitByComma,
} from '../tree.ts';
import { addAssignments, findTop } from './change-rows.ts';
import { addTableName, createPlain, type StatementSql } from './statement-sql.ts';

/** A WHEN MATCHED clause. */
interface Rule {
  readonly condition: string;
  readonly action: 'update' | 'delete' | undefined;
}

export function renderMerge(nodes: readonly Node[], frame: Frame): StatementSql {
  const cursor = new Cursor(nodes, frame);
  cursor.keep();
  cursor.keepWord('INTO');
  const first = cursor.pieces.length;
  const named = addTableName(cursor, { writes: true });
  cursor.keepWord('AS');
  const alias = isName(cursor.node) && !isWord(cursor.node, 'USING') ? cursor.node : undefined;
  if (alias !== undefined) cursor.keep();
  const target = cursor.pieces.slice(first).join('');
  if (!cursor.keepWord('USING')) return createPlain(nodes, frame);
  const source = renderTable(nodes, cursor.at, frame);
  if (source === undefined)
    refuse(frame, cursor.node ?? nodes[0], 'the source of MERGE is missing after USING');
  const second = cursor.pieces.length;
  cursor.add(source.sql, source.next);
  addExpression(cursor, findTop(cursor.rest, 'WHEN', 'REMOVE'));
  if (isWord(cursor.node, 'REMOVE'))
    refuse(frame, cursor.node, 'MERGE … REMOVE DUPLICATES is not supported here: write WHEN clauses');
  const joined = `${target} JOIN${cursor.pieces.slice(second).join('')}`;
  const rules: Rule[] = [];
  while (isWord(cursor.node, 'WHEN')) {
    const rule = readRule(cursor);
    if (rule !== undefined) rules.push(rule);
    addWhen(cursor);
  }
  if (rules.some(({ action }) => action === 'update')) {
    const name = alias === undefined ? quoteNames(named.names.slice(-1)) : copyNodes(frame, [alias]);
    frame.before.push(renderAmbiguityCheck(name, joined, rules));
  }
  if (cursor.at < nodes.length) cursor.add(frame.render.expression(cursor.rest, frame), nodes.length);
  return { sql: cursor.sql, kind: 'MERGE' };
}

/** What `WHEN MATCHED` does with a row; undefined for other clauses. */
function readRule({ rest, frame }: Cursor): Rule | undefined {
  if (!isWord(rest[1], 'MATCHED')) return undefined;
  const end = findTop(rest, 'THEN');
  const condition = isWord(rest[2], 'AND') ? frame.render.expression(rest.slice(3, end), frame) : 'TRUE';
  const isUpdate = isWord(rest[end + 1], 'UPDATE');
  return { condition, action: isUpdate ? 'update' : isWord(rest[end + 1], 'DELETE') ? 'delete' : undefined };
}

/** Which of several updates of a row would win is not defined, so the warehouse is made to fail, as the vendors do. */
function renderAmbiguityCheck(table: string, joined: string, rules: readonly Rule[]): string {
  const cases = rules.map(
    ({ condition, action }) => `WHEN ${condition} THEN ${action === undefined ? 'NULL' : quoteText(action)}`,
  );
  const message =
    'several rows of the source of MERGE match the same row of the table: make the rows of the source distinct, or the conditions stricter';
  return `SELECT error(${quoteText(message)}) FROM (
SELECT count(*) FILTER (WHERE "headgate_action" = 'update') AS updates, count("headgate_action") AS matches
FROM (SELECT ${table}.rowid AS "headgate_row", CASE ${cases.join('\n')} END AS "headgate_action"
FROM ${joined})
GROUP BY "headgate_row"
) WHERE updates >= 1 AND matches > 1 LIMIT 1`;
}

function addExpression(cursor: Cursor, count: number): void {
  if (count === 0) return;
  cursor.add(cursor.frame.render.expression(cursor.rest.slice(0, count), cursor.frame), cursor.at + count);
}

function addWhen(cursor: Cursor): void {
  const { frame, nodes } = cursor;
  cursor.keep();
  addExpression(cursor, findTop(cursor.rest, 'THEN'));
  if (!cursor.keepWord('THEN'))
    refuse(frame, cursor.node ?? nodes.at(-1), 'THEN is missing in a clause of MERGE');
  if (hasWords(nodes, cursor.at, 'UPDATE', 'SET')) {
    cursor.keep(2);
    addAssignments(cursor, findTop(cursor.rest, 'WHEN', 'WHERE', 'RETURNING'));
  } else if (hasWords(nodes, cursor.at, 'INSERT')) {
    cursor.keep();
    if (isGroup(cursor.node)) cursor.add(renderColumns(cursor.node, frame), cursor.at + 1);
    addExpression(cursor, findTop(cursor.rest, 'WHEN', 'RETURNING'));
  } else if (hasWords(nodes, cursor.at, 'UPDATE', 'ALL')) {
    refuse(frame, cursor.node, 'UPDATE ALL BY NAME is not supported here: write UPDATE SET column = value');
  } else addExpression(cursor, findTop(cursor.rest, 'WHEN', 'RETURNING'));
}

/** `(t.a, t.b)` as `(a, b)` */
function renderColumns(group: Group, frame: Frame): string {
  const parts = splitByComma(group.nodes);
  const isQualified = parts.some((part) => findChainEnd(part, 0) > 1);
  if (!isQualified) return copyText(frame, group.from, group.to);
  return `(${parts.map((part) => copyNodes(frame, part.slice(-1))).join(', ')})`;
}
