/** INSERT, UPDATE, DELETE and TRUNCATE. */

import { Cursor } from '../rewrite/cursor.ts';
import { copyNodes, type Frame, refuse } from '../rewrite/frame.ts';
import {
  findChainEnd,
  hasWords,
  isGroup,
  isName,
  isQuery,
  isSymbol,
  isWord,
  type Node,
  splitByComma,
} from '../tokens/tree.ts';
import { notAliases } from '../tokens/words.ts';
import { aside, renderInsertAll } from './insert-all.ts';
import { addTableName, createPlain, renderExists, type StatementSql } from './statement-sql.ts';

export function renderInsert(nodes: readonly Node[], frame: Frame): StatementSql {
  const many = isWord(nodes[1], 'OVERWRITE') ? 2 : 1;
  if (isWord(nodes[many], 'ALL', 'FIRST')) return renderInsertAll(nodes, many, frame);
  const cursor = new Cursor(nodes, frame);
  cursor.keep();
  const overwrites = isWord(cursor.node, 'OVERWRITE');
  if (overwrites) cursor.drop();
  if (cursor.keepWord('OR')) cursor.keep();
  if (!cursor.keepWord('INTO')) {
    if (!overwrites) return createPlain(nodes, frame);
    cursor.pieces.push(' INTO');
  }
  if (isWord(cursor.node, 'TABLE') && isName(nodes[cursor.at + 1])) cursor.drop();
  const table = addTableName(cursor, { writes: true });
  if (cursor.keepWord('AS')) cursor.keep();
  const group = cursor.node;
  if (isGroup(group) && !isQuery(group.nodes)) cursor.keep();
  const { rest } = cursor;
  if (!overwrites) {
    if (rest.length > 0) cursor.add(frame.render.query(rest, frame), cursor.at + rest.length);
    return { sql: cursor.sql, kind: 'INSERT' };
  }
  frame.before.push(
    `CREATE OR REPLACE TEMPORARY TABLE ${aside} AS\n${frame.render.query(rest, frame)}`,
    `DELETE FROM ${table.sql}`,
  );
  frame.after.push(`DROP TABLE ${aside}`);
  return { sql: `${cursor.sql} SELECT * FROM ${aside}`, kind: 'INSERT' };
}

export function renderUpdate(nodes: readonly Node[], frame: Frame): StatementSql {
  const cursor = new Cursor(nodes, frame);
  cursor.keep();
  addTableName(cursor, { writes: true });
  cursor.keepWord('AS');
  if (isName(cursor.node) && !isWord(cursor.node, 'SET')) cursor.keep();
  if (!cursor.keepWord('SET')) return createPlain(nodes, frame);
  addAssignments(cursor, findTop(cursor.rest, 'FROM', 'WHERE', 'RETURNING'));
  const { rest } = cursor;
  if (rest.length > 0) cursor.add(frame.render.query(rest, frame), nodes.length);
  return { sql: cursor.sql, kind: 'UPDATE' };
}

/** The index of the first of the words outside of CASE, or the end. */
export function findTop(nodes: readonly Node[], ...words: readonly string[]): number {
  let depth = 0;
  for (const [index, node] of nodes.entries()) {
    if (isWord(node, 'CASE')) depth += 1;
    else if (isWord(node, 'END')) depth -= 1;
    else if (depth <= 0 && isWord(node, ...words) && !isWord(nodes[index - 1], 'DISTINCT')) return index;
  }
  return nodes.length;
}

/** `a = 1, t.b = s.b`: DuckDB takes no table before the column that is set. */
export function addAssignments(cursor: Cursor, count: number): void {
  const { frame } = cursor;
  const parts = splitByComma(cursor.rest.slice(0, count));
  for (const [index, part] of parts.entries()) {
    const end = findChainEnd(part, 0);
    const column = part[end - 1];
    if (end > 1 && isSymbol(part[end], '=') && column !== undefined) {
      cursor.add(copyNodes(frame, [column]), cursor.at + end);
      const value = part.slice(end + 1);
      cursor.keep();
      cursor.add(frame.render.expression(value, frame), cursor.at + value.length);
    } else if (part.length > 0) cursor.add(frame.render.expression(part, frame), cursor.at + part.length);
    if (index < parts.length - 1) cursor.keep();
  }
}

export function renderDelete(nodes: readonly Node[], frame: Frame): StatementSql {
  const cursor = new Cursor(nodes, frame);
  cursor.keep();
  if (!cursor.keepWord('FROM')) cursor.pieces.push(' FROM');
  addTableName(cursor, { writes: true });
  cursor.keepWord('AS');
  if (isName(cursor.node) && !(cursor.node.kind === 'word' && notAliases.has(cursor.node.value)))
    cursor.keep();
  if (cursor.keepWord('USING')) cursor.add(frame.render.tables(cursor.rest, frame), nodes.length);
  else if (cursor.at < nodes.length) cursor.add(frame.render.query(cursor.rest, frame), nodes.length);
  return { sql: cursor.sql, kind: 'DELETE' };
}

export function renderTruncate(nodes: readonly Node[], frame: Frame): StatementSql {
  const cursor = new Cursor(nodes, frame);
  cursor.keep();
  if (isWord(cursor.node, 'TABLE') && nodes.length > 2) cursor.keep();
  if (isWord(cursor.node, 'MATERIALIZED'))
    refuse(frame, nodes[0], 'TRUNCATE of a materialized view is not supported here');
  const exists = hasWords(nodes, cursor.at, 'IF', 'EXISTS');
  if (exists) cursor.drop(2);
  const { place } = addTableName(cursor, { writes: true });
  cursor.keep(nodes.length - cursor.at);
  return { sql: cursor.sql, kind: 'TRUNCATE', ...(exists ? { onlyIf: renderExists(place) } : {}) };
}
