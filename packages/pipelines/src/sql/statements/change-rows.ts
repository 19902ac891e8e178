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
    const columns = isGroup(group) && !isQuery(group.nodes) ? splitByComma(group.nodes) : undefined;
    addInserted(cursor, table.sql, columns);
    return { sql: cursor.sql, kind: 'INSERT' };
  }
  frame.before.push(
    `CREATE OR REPLACE TEMPORARY TABLE ${aside} AS\n${frame.render.query(rest, frame)}`,
    `DELETE FROM ${table.sql}`,
  );
  frame.after.push(`DROP TABLE ${aside}`);
  return { sql: `${cursor.sql} SELECT * FROM ${aside}`, kind: 'INSERT' };
}

const setOperators = ['UNION', 'INTERSECT', 'EXCEPT', 'MINUS'];
/** What may follow the list of a SELECT. */
const afterItems = ['FROM', 'WHERE', 'GROUP', 'HAVING', 'QUALIFY', 'ORDER', 'LIMIT'];

/** The rows of an INSERT. A VARIANT in the list of a SELECT gets the type of its column: a text has no quotes there. */
function addInserted(cursor: Cursor, table: string, columns: readonly (readonly Node[])[] | undefined): void {
  const { frame, rest } = cursor;
  const first = isWord(rest[1], 'DISTINCT', 'ALL') ? 2 : 1;
  const isOne = isWord(rest[0], 'SELECT') && findTop(rest, ...setOperators) === rest.length;
  const items = isOne ? splitByComma(rest.slice(first, findTop(rest, ...afterItems))) : [];
  const assigned = items.map((item, index) => {
    const operand = frame.render.operand(item, 0, frame);
    const isAll =
      operand !== undefined && item.slice(operand.next).every((node) => isWord(node, 'AS') || isName(node));
    if (operand?.isVariant !== 'yes' || !isAll) return undefined;
    const name = columns?.[index] === undefined ? `#${index + 1}` : copyNodes(frame, columns[index]);
    return renderAssigned(operand.sql, `(SELECT ${name} FROM ${table} LIMIT 0)`);
  });
  if (assigned.some((each) => each !== undefined) && !items.some((item) => isSymbol(item.at(-1), '*'))) {
    cursor.keep(first);
    for (const [index, item] of items.entries()) {
      cursor.add(assigned[index] ?? frame.render.expression(item, frame), cursor.at + item.length);
      if (index < items.length - 1) cursor.keep();
    }
  }
  if (cursor.rest.length > 0)
    cursor.add(frame.render.query(cursor.rest, frame), cursor.at + cursor.rest.length);
}

/**
 * A VARIANT as the type of `target`, whose value is not read. The variant stays whole, because GROUP BY may name it.
 */
function renderAssigned(variant: string, target: string): string {
  const text = `CASE WHEN typeof(${target}) = 'JSON' THEN CAST(${variant} AS VARCHAR) ELSE json_extract_string(${variant}, '$') END`;
  return `cast_to_type(${text}, ${target})`;
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
