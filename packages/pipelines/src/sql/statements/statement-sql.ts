/** What rendering a statement gives, and ways to render a part of one. */

import type { Cursor } from '../rewrite/cursor.ts';
import { copyNodes, type Frame, refuse } from '../rewrite/frame.ts';
import { makeSchema, placeTable } from '../rewrite/table-names.ts';
import { readIdentifier } from '../rewrite/tables.ts';
import { quoteNames, quoteText } from '../tokens/tokens.ts';
import { findChainEnd, isGroup, isWord, type Node, readChain } from '../tokens/tree.ts';

export interface StatementSql {
  readonly sql: string;
  readonly kind: string;
  readonly onlyIf?: string;
  readonly listed?: string;
}

/** A statement that stays as it was written. */
export function createPlain(nodes: readonly Node[], frame: Frame): StatementSql {
  const [first] = nodes;
  return { sql: copyNodes(frame, nodes), kind: first?.kind === 'word' ? first.value : '' };
}

/** A statement that has no effect here. */
export function ignore(frame: Frame, kind: string, note: string): StatementSql {
  frame.notes.add(note);
  return { sql: '', kind };
}

/** A statement that changes who may read: it has no effect only where the project says so. */
export function ignoreAccess(frame: Frame, node: Node | undefined, kind: string, what: string): StatementSql {
  if (frame.script.names.ignoresAccess === true)
    return ignore(
      frame,
      kind,
      `${what} has no effect here: who may read is decided by the roles of the project`,
    );
  refuse(
    frame,
    node,
    `${what} changes who may read, which the warehouse cannot do here: remove it, or set ignoreAccessStatements of the project`,
  );
}

export interface NamedTable {
  /** As written in SQL. */
  readonly sql: string;
  readonly names: readonly string[];
  /** The parts of its name in the warehouse. */
  readonly place: readonly string[];
  readonly next: number;
}

export interface TableUse {
  /** Whether the table is written, or only read. */
  readonly writes: boolean;
  /** Whether its schema is made if it does not exist. */
  readonly creates?: boolean;
}

/** The name of a table at a position, also as `IDENTIFIER('name')`. */
export function readTableName(
  nodes: readonly Node[],
  at: number,
  frame: Frame,
  { writes, creates }: TableUse,
): NamedTable | undefined {
  const [node, group] = [nodes[at], nodes[at + 1]];
  const isIdentifier = isWord(node, 'IDENTIFIER') && isGroup(group);
  const end = isIdentifier ? at + 2 : findChainEnd(nodes, at);
  if (end === at) return undefined;
  const names = isIdentifier ? readIdentifier(group, frame) : readChain(nodes.slice(at, end));
  const written = isIdentifier ? quoteNames(names) : copyNodes(frame, nodes.slice(at, end));
  const table = placeTable(names, written, frame, node);
  (writes ? frame.writes : frame.reads).push(table.reference);
  if (creates === true) makeSchema(table, frame);
  return { sql: table.sql, names, place: [...table.path, table.reference.table], next: end };
}

/** Adds the name of a table. @throws SqlError if there is none */
export function addTableName(cursor: Cursor, use: TableUse): NamedTable {
  const named = readTableName(cursor.nodes, cursor.at, cursor.frame, use);
  if (named === undefined)
    refuse(cursor.frame, cursor.node ?? cursor.nodes.at(-1), 'the name of a table is missing');
  cursor.add(named.sql, named.next);
  return named;
}

/** A query that returns a row if the table exists. */
export function renderExists(place: readonly string[]): string {
  const [table = '', schema = ''] = place.toReversed();
  const same = (column: string, value: string) => `lower(${column}) = lower(${quoteText(value)})`;
  return `SELECT table_name FROM information_schema.tables WHERE ${same('table_schema', schema)} AND ${same('table_name', table)}`;
}
