/** MERGE. DuckDB's is written in the same way, but takes no table before a column that is set or inserted. */

import type { MatchedRule } from '../dialect/dialect.ts';
import { renderMergeCheck } from '../dialect/merge-check.ts';
import { Cursor } from '../rewrite/cursor.ts';
import { copyNodes, copyText, type Frame, refuse } from '../rewrite/frame.ts';
import { renderTable } from '../rewrite/tables.ts';
import { quoteNames } from '../tokens/tokens.ts';
import {
  findChainEnd,
  type Group,
  hasWords,
  isGroup,
  isName,
  isWord,
  type Node,
  readChain,
  splitByComma,
} from '../tokens/tree.ts';
import { addAssignments, findTop } from './change-rows.ts';
import { addTableName, createPlain, type StatementSql } from './statement-sql.ts';

export function renderMerge(nodes: readonly Node[], frame: Frame): StatementSql {
  const cursor = new Cursor(nodes, frame);
  cursor.keep();
  cursor.keepWord('INTO');
  const target = addTableName(cursor, { writes: true });
  cursor.keepWord('AS');
  const named = cursor.node;
  const hasAlias = isName(named) && !isWord(named, 'USING');
  if (hasAlias) cursor.keep();
  if (!cursor.keepWord('USING')) return createPlain(nodes, frame);
  const source = renderTable(nodes, cursor.at, frame);
  if (source === undefined)
    refuse(frame, cursor.node ?? nodes[0], 'the source of MERGE is missing after USING');
  cursor.add(source.sql, source.next);
  const on = cursor.rest.slice(0, findTop(cursor.rest, 'WHEN', 'REMOVE'));
  addExpression(cursor, on.length);
  if (isWord(cursor.node, 'REMOVE'))
    refuse(frame, cursor.node, 'MERGE … REMOVE DUPLICATES is not supported here: write WHEN clauses');
  const rules: MatchedRule[] = [];
  while (isWord(cursor.node, 'WHEN')) rules.push(...addWhen(cursor));
  if (cursor.at < nodes.length) cursor.add(frame.render.expression(cursor.rest, frame), nodes.length);
  const alias = hasAlias ? copyNodes(frame, [named]) : quoteNames(target.names.slice(-1));
  // Without an alias, a column may be written with its schema, which the check does not have.
  const isChecked = hasAlias || !namesSchemas(nodes.slice(source.next));
  if (isWord(on[0], 'ON') && isChecked && rules.some(({ action }) => action === 'update')) {
    const condition = `(${frame.render.expression(on.slice(1), frame)}\n)`;
    frame.before.push(renderMergeCheck({ table: target.sql, alias, source: source.sql, condition, rules }));
  }
  return { sql: cursor.sql, kind: 'MERGE' };
}

/** Whether there is a chain such as `schema.table.column`. */
function namesSchemas(nodes: readonly Node[]): boolean {
  return nodes.some((node, at) =>
    isGroup(node) ? namesSchemas(node.nodes) : readChain(nodes.slice(at, findChainEnd(nodes, at))).length > 2,
  );
}

function addExpression(cursor: Cursor, count: number): void {
  if (count === 0) return;
  cursor.add(cursor.frame.render.expression(cursor.rest.slice(0, count), cursor.frame), cursor.at + count);
}

/** Returns what the clause does with rows that match, if it is about them. */
function addWhen(cursor: Cursor): MatchedRule[] {
  const { frame, nodes } = cursor;
  cursor.keep();
  const when = cursor.rest.slice(0, findTop(cursor.rest, 'THEN'));
  addExpression(cursor, when.length);
  if (!cursor.keepWord('THEN'))
    refuse(frame, cursor.node ?? nodes.at(-1), 'THEN is missing in a clause of MERGE');
  const action = isWord(cursor.node, 'UPDATE') ? 'update' : isWord(cursor.node, 'DELETE') ? 'delete' : 'none';
  addAction(cursor);
  if (!isWord(when[0], 'MATCHED')) return [];
  const and = isWord(when[1], 'AND') ? when.slice(2) : undefined;
  return [{ action, condition: and && `(${frame.render.expression(and, frame)}\n)` }];
}

function addAction(cursor: Cursor): void {
  const { frame, nodes } = cursor;
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
