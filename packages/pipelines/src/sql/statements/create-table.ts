/** CREATE TABLE: columns, options, AS, LIKE and CLONE. */

import { Cursor } from '../rewrite/cursor.ts';
import { copyNodes, copyText, type Frame, refuse } from '../rewrite/frame.ts';
import { readType } from '../rewrite/sql-types.ts';
import { keyOf } from '../rewrite/table-names.ts';
import { vendorOf } from '../tokens/names.ts';
import { quoteName, quoteNames } from '../tokens/tokens.ts';
import {
  findChainEnd,
  type Group,
  hasWords,
  isGroup,
  isName,
  isSymbol,
  isWord,
  type Node,
  splitByComma,
} from '../tokens/tree.ts';
import { addKeys, readKey, renderColumnDefinition, type TableColumns } from './columns.ts';
import { keepIfNotExists, type Modifiers } from './creation.ts';
import { nothing } from './schemas.ts';
import {
  ignoreAccess,
  type NamedTable,
  readTableName,
  renderExists,
  type StatementSql,
} from './statement-sql.ts';
import { listTableCopy, refuseEarlierState } from './table-copies.ts';
import { listAddedChecks, renderLengthCheck } from './text-lengths.ts';

const kind = 'CREATE TABLE';

export function renderCreateTable(
  nodes: readonly Node[],
  { temporary, words, at }: Modifiers,
  frame: Frame,
): StatementSql {
  const cursor = new Cursor(nodes, frame);
  while (cursor.at < at) {
    if (isWord(cursor.node, 'VOLATILE')) cursor.add('TEMPORARY', cursor.at + 1);
    else if (isWord(cursor.node, 'TRANSIENT', 'HYBRID', 'LOCAL', 'GLOBAL')) cursor.drop();
    else cursor.keep();
  }
  if (words.includes('TRANSIENT')) frame.notes.add('TRANSIENT has no effect here');
  cursor.keep();
  // Snowflake also takes it after the name.
  const isAfterName = hasWords(nodes, findChainEnd(nodes, cursor.at), 'IF', 'NOT', 'EXISTS');
  if (isAfterName) cursor.pieces.push(' IF NOT EXISTS');
  const ifNotExists = keepIfNotExists(cursor) || isAfterName;
  const table = addName(cursor, temporary, frame);
  if (isAfterName) cursor.drop(3);
  const replaces = hasWords(nodes, 1, 'OR', 'REPLACE');
  const columns: TableColumns = { table, temporary, replaces, ifNotExists, keys: [] };
  if (hasWords(nodes, cursor.at, 'USING', 'TEMPLATE'))
    refuse(frame, cursor.node, 'CREATE TABLE … USING TEMPLATE is not supported here: list the columns');
  const group = cursor.node;
  if (isGroup(group) && isWord(group.nodes[0], 'LIKE')) {
    const copy = renderCopy(group.nodes, cursor.sql, columns, frame);
    if (copy !== undefined) return copy;
  }
  const definitions = isGroup(group) ? group : undefined;
  const head = cursor.sql;
  const gap = copyText(frame, nodes[cursor.at - 1]?.to ?? 0, group?.from ?? 0);
  const body = new Cursor(nodes, frame);
  body.at = definitions === undefined ? cursor.at : cursor.at + 1;
  dropOptions(body, frame);
  const { rest } = body;
  if (isWord(rest[0], 'LIKE', 'CLONE')) {
    const copy = renderCopy(rest, head, columns, frame);
    if (copy !== undefined) return copy;
  }
  if (isWord(rest[0], 'AS')) {
    const query = frame.render.query(rest.slice(1), frame);
    const sql = `${head}${body.sql}${renderAs(query, rest, definitions, columns, frame)}`;
    const parts = definitions === undefined ? listCastItems(rest) : splitByComma(definitions.nodes);
    return { sql, kind, ...checkLengths(parts, columns, frame), ...declareAfter(columns, frame) };
  }
  const list = definitions === undefined ? '' : `${gap}${renderColumns(definitions, columns, frame)}`;
  body.keep(nodes.length - body.at);
  return { sql: `${head}${list}${body.sql}`, kind, ...declareAfter(columns, frame) };
}

/** The lengths of the texts of a table that is made of a query. */
function checkLengths(
  parts: readonly (readonly Node[])[],
  { table, temporary, ifNotExists }: TableColumns,
  frame: Frame,
): Pick<StatementSql, 'listed'> {
  const checks = parts.map((part) => renderLengthCheck(part, frame)).filter((check) => check !== '');
  if (checks.length === 0) return {};
  if (ifNotExists) {
    frame.notes.add('with IF NOT EXISTS, the lengths of the texts of CREATE TABLE … AS are not checked here');
    return {};
  }
  return { listed: listAddedChecks({ ...table, place: findPlace(table, temporary).place }, checks) };
}

/** The names and types of `x::VARCHAR(5) AS a` and `CAST(x AS VARCHAR(5)) a` in the list of the one SELECT. */
function listCastItems(as: readonly Node[]): Node[][] {
  const end = as.findIndex((node) => isWord(node, 'FROM'));
  const isOne = isWord(as[1], 'SELECT') && !as.some((node) => isWord(node, 'UNION', 'INTERSECT', 'EXCEPT'));
  const items = isOne ? splitByComma(as.slice(2, end < 0 ? as.length : end)) : [];
  return items.flatMap((item) => {
    const name = item.at(-1);
    const value = isWord(item.at(-2), 'AS') ? item.slice(0, -2) : item.slice(0, -1);
    if (!isName(name) || value.length < 2) return [];
    const cast = value.findLastIndex((node) => isSymbol(node, '::'));
    const group = value[1];
    const isCall = value.length === 2 && isWord(value[0], 'CAST', 'TRY_CAST') && isGroup(group);
    const inner = isCall ? group.nodes : value;
    const type = isCall ? inner.findLastIndex((node) => isWord(node, 'AS')) : cast;
    const isType = type > 0 && inner.slice(type + 1).every((node) => node.kind === 'word' || isGroup(node));
    return isType ? [[name, ...inner.slice(type + 1)]] : [];
  });
}

/** A table that is there already keeps its own keys. */
function declareAfter(
  { table, temporary, keys, ifNotExists }: TableColumns,
  frame: Frame,
): Pick<StatementSql, 'onlyIf'> {
  if (keys.length === 0) return {};
  const made = findPlace(table, temporary);
  addKeys(made.sql, keys, frame);
  return ifNotExists ? { onlyIf: made.isMissing } : {};
}

/** Where the new table is, and a query for a row if there is none yet. */
function findPlace(table: NamedTable, temporary: boolean) {
  const place = temporary ? ['temp', 'main', table.place.at(-1) ?? ''] : table.place;
  const exists = `${renderExists(place)}${temporary ? " AND table_catalog = 'temp'" : ''}`;
  const sql = temporary ? quoteNames(place) : table.sql;
  return { place, sql, isMissing: `SELECT 1 WHERE NOT EXISTS (${exists})` };
}

/** A temporary table has no schema: the other statements of the script find it by its name. */
function addName(cursor: Cursor, temporary: boolean, frame: Frame): NamedTable {
  const table = readTableName(cursor.nodes, cursor.at, frame, { writes: true, creates: !temporary });
  if (table === undefined)
    refuse(frame, cursor.node ?? cursor.nodes.at(-1), 'the name of the table is missing');
  const isQualified =
    table.names.length > 1 || (table.place.length > 1 && frame.script.names.schema !== undefined);
  const name = table.place.at(-1) ?? '';
  if (temporary && isQualified && table.place[0] !== 'temp') {
    frame.script.temporary.add(keyOf(table.place));
    cursor.add(`temp.main.${quoteName(name)}`, table.next);
  } else cursor.add(table.sql, table.next);
  return table;
}

/**
 * LIKE and CLONE. Redshift's LIKE has defaults only if it says so, and no keys.
 *
 * @param nodes with LIKE or CLONE, the name and the options
 */
function renderCopy(
  nodes: readonly Node[],
  head: string,
  { table, temporary, ifNotExists }: TableColumns,
  frame: Frame,
): StatementSql | undefined {
  const source = readTableName(nodes, 1, frame, { writes: false });
  if (source === undefined) return undefined;
  const clones = isWord(nodes[0], 'CLONE');
  const made = findPlace(table, temporary);
  if (keyOf(source.place) === keyOf(made.place))
    refuse(frame, nodes[0], 'a table cannot be made from itself: give the new one another name');
  if (clones) refuseEarlierState(nodes, source.next, frame);
  const isRedshift = vendorOf(frame.script.names) === 'redshift';
  const listed = listTableCopy({
    head: head.trimEnd(),
    target: made.sql,
    source,
    rows: clones,
    defaults: !isRedshift || hasWords(nodes, source.next, 'INCLUDING', 'DEFAULTS'),
    keys: !isRedshift,
  });
  return { sql: nothing, kind, listed, ...(ifNotExists ? { onlyIf: made.isMissing } : {}) };
}

/** `CREATE TABLE t (a int, b text) AS SELECT …`: DuckDB takes only names there. */
function renderAs(
  query: string,
  rest: readonly Node[],
  definitions: Group | undefined,
  { keys }: TableColumns,
  frame: Frame,
): string {
  const [as, first] = [rest[0] as Node, rest[1]];
  const gap = first === undefined ? ' ' : copyText(frame, as.to, first.from);
  if (definitions === undefined) return ` AS${gap}${query}`;
  const parts = splitByComma(definitions.nodes).filter((part) => {
    const key = isGroup(part.at(-1)) || isWord(part[0], 'CONSTRAINT') ? readKey(part, frame) : undefined;
    if (key !== undefined) keys.push(key);
    return key === undefined;
  });
  for (const part of parts) {
    const columns = [part[0]?.kind === 'group' ? '' : (part[0]?.text ?? '')];
    if (part.some((_, at) => hasWords(part, at, 'PRIMARY', 'KEY')))
      keys.push({ kind: 'PRIMARY KEY', columns });
    if (part.slice(1).some((node) => isWord(node, 'UNIQUE'))) keys.push({ kind: 'UNIQUE', columns });
  }
  if (parts.every((part) => part.length === 1)) return ` ${copyNodes(frame, [definitions])} AS${gap}${query}`;
  const names = parts.map((part) => quoteName(part[0]?.kind === 'group' ? '' : (part[0]?.text ?? '')));
  const casts = parts.map((part, index) => {
    const type = readType(part, 1, frame);
    return type === undefined
      ? (names[index] ?? '')
      : `CAST(${names[index]} AS ${type.sql}) AS ${nameOf(part, frame)}`;
  });
  return ` AS SELECT ${casts.join(', ')} FROM (\n${query}\n) AS "given"(${names.join(', ')})`;
}

const nameOf = (part: readonly Node[], frame: Frame) => copyNodes(frame, part.slice(0, 1));

function renderColumns(group: Group, columns: TableColumns, frame: Frame): string {
  const [first, last] = [group.nodes[0], group.nodes.at(-1)];
  if (first === undefined || last === undefined) return copyNodes(frame, [group]);
  let sql = '';
  let end = first.from;
  for (const part of splitByComma(group.nodes)) {
    const [start, stop] = [part[0], part.at(-1)];
    if (start === undefined || stop === undefined) continue;
    const column = renderColumnDefinition(part, columns, frame);
    // The gap has the comma before the part.
    if (column !== '')
      sql += `${sql === '' ? '' : copyText(frame, end, start.from)}${column}${renderLengthCheck(part, frame)}`;
    end = stop.to;
  }
  return `${copyText(frame, group.from, first.from)}${sql}${copyText(frame, last.to, group.to)}`;
}

const withGroup = ['DISTKEY', 'SORTKEY'];
const withValue = ['DISTSTYLE', 'BACKUP', 'ENCODE'];

/** Leaves out the options that have no meaning here, up to AS, LIKE, CLONE or what DuckDB may know. */
function dropOptions(cursor: Cursor, frame: Frame): void {
  const { nodes } = cursor;
  const drop = (count: number, name: string) => {
    frame.notes.add(`${name} has no effect here`);
    cursor.drop(count);
  };
  for (let node = cursor.node; node !== undefined; node = cursor.node) {
    const { at } = cursor;
    if (node.kind !== 'word' || isWord(node, 'AS', 'LIKE', 'CLONE')) return;
    if (hasWords(nodes, at, 'CLUSTER', 'BY')) drop(isWord(nodes[at + 2], 'LINEAR') ? 4 : 3, 'CLUSTER BY');
    else if (hasWords(nodes, at, 'COPY', 'GRANTS')) drop(2, 'COPY GRANTS');
    else if (isWord(node, 'COMPOUND', 'INTERLEAVED')) cursor.drop();
    else if (withGroup.includes(node.value)) drop(2, node.value);
    else if (withValue.includes(node.value)) drop(2, node.value);
    else if (hasWords(nodes, isWord(node, 'WITH') ? at + 1 : at, 'ROW', 'ACCESS', 'POLICY')) {
      ignoreAccess(frame, node, kind, 'ROW ACCESS POLICY of a table');
      cursor.drop(findGroup(nodes, at) - at + 1);
    } else if (isWord(node, 'WITH') && isWord(nodes[at + 1], 'TAG'))
      drop(findGroup(nodes, at) - at + 1, 'WITH TAG');
    else if (isSymbol(nodes[at + 1], '=')) drop(3, node.value);
    else return;
  }
}

function findGroup(nodes: readonly Node[], at: number): number {
  const found = nodes.findIndex((node, index) => index > at && isGroup(node));
  return found < 0 ? nodes.length - 1 : found;
}
