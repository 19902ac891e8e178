/** MERGE. DuckDB's is written in the same way, but takes no table before a column that is set or inserted. */
import { Cursor } from '../cursor.ts';
import { copyNodes, copyText, type Frame, refuse } from '../frame.ts';
import { renderTable } from '../tables.ts';
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

export function renderMerge(nodes: readonly Node[], frame: Frame): StatementSql {
  const cursor = new Cursor(nodes, frame);
  cursor.keep();
  cursor.keepWord('INTO');
  addTableName(cursor, { writes: true });
  cursor.keepWord('AS');
  if (isName(cursor.node) && !isWord(cursor.node, 'USING')) cursor.keep();
  if (!cursor.keepWord('USING')) return createPlain(nodes, frame);
  const source = renderTable(nodes, cursor.at, frame);
  if (source === undefined)
    refuse(frame, cursor.node ?? nodes[0], 'the source of MERGE is missing after USING');
  cursor.add(source.sql, source.next);
  addExpression(cursor, findTop(cursor.rest, 'WHEN', 'REMOVE'));
  if (isWord(cursor.node, 'REMOVE'))
    refuse(frame, cursor.node, 'MERGE … REMOVE DUPLICATES is not supported here: write WHEN clauses');
  while (isWord(cursor.node, 'WHEN')) addWhen(cursor);
  if (cursor.at < nodes.length) cursor.add(frame.render.expression(cursor.rest, frame), nodes.length);
  return { sql: cursor.sql, kind: 'MERGE' };
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
