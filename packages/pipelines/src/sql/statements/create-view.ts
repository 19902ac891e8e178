/** CREATE VIEW. */

import { Cursor } from '../rewrite/cursor.ts';
import { copyNodes, type Frame } from '../rewrite/frame.ts';
import { hasWords, isGroup, isSymbol, isWord, type Node, splitByComma } from '../tokens/tree.ts';
import { keepIfNotExists, type Modifiers } from './creation.ts';
import { addTableName, ignoreAccess, type StatementSql } from './statement-sql.ts';

export function renderCreateView(
  nodes: readonly Node[],
  { words, at }: Modifiers,
  frame: Frame,
): StatementSql {
  const cursor = new Cursor(nodes, frame);
  while (cursor.at < at) {
    if (isWord(cursor.node, 'SECURE', 'MATERIALIZED', 'VOLATILE')) cursor.drop();
    else cursor.keep();
  }
  if (words.includes('SECURE'))
    frame.notes.add('SECURE has no effect here: every reader of the warehouse sees the view’s query');
  if (words.includes('MATERIALIZED'))
    frame.notes.add('MATERIALIZED has no effect here: the view reads its tables each time');
  cursor.keep();
  keepIfNotExists(cursor);
  addTableName(cursor, { writes: true, creates: !words.some((word) => word.startsWith('TEMP')) });
  const columns = cursor.node;
  if (isGroup(columns))
    cursor.add(
      `(${splitByComma(columns.nodes)
        .map((part) => copyNodes(frame, part.slice(0, 1)))
        .join(', ')})`,
      cursor.at + 1,
    );
  while (cursor.node !== undefined && !isWord(cursor.node, 'AS')) dropOption(cursor, frame);
  cursor.keepWord('AS');
  const { rest } = cursor;
  const binding = rest.findIndex((_, index) => hasWords(rest, index, 'WITH', 'NO', 'SCHEMA', 'BINDING'));
  const query = binding < 0 ? rest : rest.slice(0, binding);
  if (binding >= 0)
    frame.notes.add('WITH NO SCHEMA BINDING has no effect here: a view finds its tables when it is read');
  cursor.add(frame.render.query(query, frame), nodes.length);
  return { sql: cursor.sql, kind: 'CREATE VIEW' };
}

function dropOption(cursor: Cursor, frame: Frame): void {
  const { nodes, at } = cursor;
  if (hasWords(nodes, isWord(nodes[at], 'WITH') ? at + 1 : at, 'ROW', 'ACCESS', 'POLICY')) {
    ignoreAccess(frame, nodes[at], 'CREATE VIEW', 'ROW ACCESS POLICY of a view');
    const end = nodes.findIndex((node, index) => index > at && isGroup(node));
    cursor.drop((end < 0 ? nodes.length - 1 : end) - at + 1);
  } else if (hasWords(nodes, at, 'COPY', 'GRANTS')) {
    frame.notes.add('COPY GRANTS has no effect here');
    cursor.drop(2);
  } else if (isWord(nodes[at], 'COMMENT') && isSymbol(nodes[at + 1], '=')) {
    frame.notes.add('COMMENT has no effect here');
    cursor.drop(3);
  } else if (isSymbol(nodes[at + 1], '=')) {
    frame.notes.add(`${copyNodes(frame, nodes.slice(at, at + 1))} has no effect here`);
    cursor.drop(3);
  } else cursor.keep();
}
