/** One column or constraint of CREATE TABLE and of ALTER TABLE … ADD COLUMN. */

import { type DeclaredKey, declareKeys } from '../dialect/keys.ts';
import { Cursor } from '../rewrite/cursor.ts';
import { copyNodes, type Frame, refuse } from '../rewrite/frame.ts';
import { readType } from '../rewrite/sql-types.ts';
import { quoteName, quoteNames, quoteText, readText } from '../tokens/tokens.ts';
import {
  findChainEnd,
  hasWords,
  isGroup,
  isName,
  isSymbol,
  isWord,
  type Node,
  readChain,
  splitByComma,
} from '../tokens/tree.ts';
import { reservedInDuckdb } from '../tokens/words.ts';
import { ignoreAccess, type NamedTable } from './statement-sql.ts';

export interface TableColumns {
  readonly table: NamedTable;
  readonly temporary: boolean;
  readonly replaces: boolean;
  readonly ifNotExists: boolean;
  /** The keys that the columns and constraints declare. */
  readonly keys: DeclaredKey[];
}

const constraintWords = ['CONSTRAINT', 'PRIMARY', 'UNIQUE', 'FOREIGN', 'CHECK', 'LIKE', 'EXCLUDE'];

export function renderColumnDefinition(part: readonly Node[], columns: TableColumns, frame: Frame): string {
  if (isConstraint(part)) return renderConstraint(part, columns, frame);
  const cursor = new Cursor(part, frame);
  const name = isName(part[0]) ? part[0].text : '';
  if (part[0]?.kind === 'word' && reservedInDuckdb.has(part[0].value)) cursor.add(quoteName(part[0].text), 1);
  else cursor.keep();
  const type = readType(part, 1, frame);
  if (type !== undefined && !isWord(part[1], 'AS', 'GENERATED', 'DEFAULT', 'NOT', 'NULL'))
    cursor.add(type.sql, type.next);
  while (cursor.node !== undefined) addOption(cursor, name, columns);
  return cursor.sql;
}

/** '' leaves it out: the vendors do not check it. */
function renderConstraint(part: readonly Node[], { keys }: TableColumns, frame: Frame): string {
  const key = readKey(part, frame);
  if (key !== undefined) {
    keys.push(key);
    return '';
  }
  if (part.some((node) => isWord(node, 'FOREIGN'))) {
    frame.notes.add('FOREIGN KEY is not checked here');
    return '';
  }
  if (part.some((_, index) => hasWords(part, index, 'NOT', 'ENFORCED'))) {
    frame.notes.add('a constraint that is NOT ENFORCED is not checked here');
    return '';
  }
  const words = ['ENFORCED', 'RELY', 'NORELY', 'ENABLE', 'VALIDATE', 'NOVALIDATE'];
  const retained = part.filter((node) => !isWord(node, ...words));
  return retained.map((node) => copyNodes(frame, [node])).join(' ');
}

/** `[CONSTRAINT name] PRIMARY KEY (a, b)` and `UNIQUE (a)`, with options after it. */
export function readKey(part: readonly Node[], frame: Frame): DeclaredKey | undefined {
  const at = isWord(part[0], 'CONSTRAINT') ? 2 : 0;
  const isPrimary = hasWords(part, at, 'PRIMARY', 'KEY');
  if (!isPrimary && !isWord(part[at], 'UNIQUE')) return undefined;
  const group = part[at + (isPrimary || isWord(part[at + 1], 'KEY') ? 2 : 1)];
  const columns = isGroup(group) ? splitByComma(group.nodes).map((name) => readChain(name).join('.')) : [];
  const kind = isPrimary ? 'PRIMARY KEY' : 'UNIQUE';
  if (columns.length === 0 || columns.includes(''))
    refuse(frame, part[at], `${kind} names no columns: write ${kind} (column)`);
  return { kind, columns };
}

/** `primary INT` is a column, `PRIMARY KEY (a)` is not. */
function isConstraint(part: readonly Node[]): boolean {
  const [first, second] = part;
  if (!isWord(first, ...constraintWords)) return false;
  return isGroup(second) || isWord(first, 'CONSTRAINT') || isWord(second, 'KEY');
}

function addOption(cursor: Cursor, column: string, columns: TableColumns): void {
  const { nodes, at, frame } = cursor;
  const node = nodes[at];
  const leaveOut = (count: number, name: string) => {
    frame.notes.add(`${name} of a column has no effect here`);
    cursor.drop(count);
  };
  if (isWord(node, 'AUTOINCREMENT', 'IDENTITY')) {
    addIdentity(cursor, column, columns, at + 1);
    return;
  }
  if (hasWords(nodes, at, 'GENERATED', 'BY', 'DEFAULT', 'AS', 'IDENTITY')) {
    addIdentity(cursor, column, columns, at + 5);
    return;
  }
  if (hasWords(nodes, at, 'GENERATED', 'ALWAYS', 'AS', 'IDENTITY')) {
    addIdentity(cursor, column, columns, at + 4);
    return;
  }
  if (isWord(node, 'COMMENT') && nodes[at + 1]?.kind === 'text') {
    leaveOut(2, 'COMMENT');
    return;
  }
  if (isWord(node, 'ENCODE') && isName(nodes[at + 1])) {
    leaveOut(2, 'ENCODE');
    return;
  }
  if (isWord(node, 'DISTKEY', 'SORTKEY')) {
    leaveOut(1, node.value);
    return;
  }
  if (isWord(node, 'RELY', 'NORELY', 'ENABLE', 'NOVALIDATE')) {
    leaveOut(1, node.value);
    return;
  }
  if (isWord(node, 'REFERENCES') || hasWords(nodes, at, 'FOREIGN', 'KEY')) {
    const end = nodes.findIndex((each, index) => index > at && isGroup(each));
    leaveOut(end < 0 ? nodes.length - at : end - at + 1, 'REFERENCES');
    return;
  }
  if (hasWords(nodes, at, 'NOT', 'ENFORCED')) {
    leaveOut(2, 'NOT ENFORCED');
    return;
  }
  const collation = nodes[at + 1];
  if (isWord(node, 'COLLATE') && collation?.kind === 'text') {
    if (/(?:^|-)ci\b/.test(readText(collation.value))) cursor.add('COLLATE NOCASE', at + 2);
    else leaveOut(2, `COLLATE ${collation.value}`);
    return;
  }
  const tag = isWord(node, 'WITH') ? at + 1 : at;
  const policy = nodes[tag];
  if (isWord(policy, 'MASKING', 'PROJECTION') && isWord(nodes[tag + 1], 'POLICY')) {
    const name = `${policy.value} POLICY of a column`;
    ignoreAccess(frame, node, name, name);
    const end = findChainEnd(nodes, tag + 2);
    cursor.drop((isWord(nodes[end], 'USING') ? end + 2 : end) - at);
    return;
  }
  if (isWord(nodes[tag], 'TAG') && isGroup(nodes[tag + 1])) {
    leaveOut(tag + 2 - at, 'TAG');
    return;
  }
  // `CONSTRAINT name UNIQUE`: what stays of it needs no name.
  if (isWord(node, 'CONSTRAINT') && isWord(nodes[at + 2], 'PRIMARY', 'UNIQUE', 'FOREIGN', 'REFERENCES')) {
    cursor.drop(2);
    return;
  }
  if (hasWords(nodes, at, 'PRIMARY', 'KEY')) {
    columns.keys.push({ kind: 'PRIMARY KEY', columns: [column] });
    cursor.drop(2);
    return;
  }
  if (isWord(node, 'UNIQUE')) {
    columns.keys.push({ kind: 'UNIQUE', columns: [column] });
    cursor.drop(isWord(nodes[at + 1], 'KEY') ? 2 : 1);
    return;
  }
  if (isWord(node, 'DEFAULT')) {
    addDefault(cursor);
    return;
  }
  cursor.keep();
}

function addDefault(cursor: Cursor): void {
  const { nodes, at, frame } = cursor;
  cursor.keep();
  const value = frame.render.operand(nodes, at + 1, frame);
  const written = copyNodes(frame, nodes.slice(at + 1, value?.next ?? at + 2));
  if (value === undefined) {
    cursor.keep();
    return;
  }
  cursor.add(value.sql === written ? written : `(${value.sql})`, value.next);
}

/** `IDENTITY(1, 1)`, `AUTOINCREMENT START 1 INCREMENT 1 NOORDER`: a sequence beside the table. */
function addIdentity(cursor: Cursor, column: string, columns: TableColumns, after: number): void {
  const { nodes, frame } = cursor;
  let next = after;
  let start = '1';
  let increment = '1';
  const group = nodes[next];
  if (isGroup(group)) {
    const [first, second] = splitByComma(group.nodes).map((part) => copyNodes(frame, part));
    start = readInteger(first ?? '1', group, frame);
    increment = readInteger(second ?? '1', group, frame);
    next += 1;
  }
  for (;;) {
    const word = nodes[next];
    if (isWord(word, 'ORDER', 'NOORDER')) next += 1;
    else if (isWord(word, 'START', 'INCREMENT')) {
      next += isWord(nodes[next + 1], 'WITH', 'BY') || isSymbol(nodes[next + 1], '=') ? 2 : 1;
      const value = readInteger(copyNodes(frame, nodes.slice(next, next + 1)), word, frame);
      if (word.value === 'START') start = value;
      else increment = value;
      next += 1;
    } else break;
  }
  const sequence = addSequence(column, columns, start, increment, frame);
  cursor.add(`DEFAULT nextval(${quoteText(sequence)})`, next);
}

function addSequence(
  column: string,
  { table, temporary, replaces, ifNotExists }: TableColumns,
  start: string,
  increment: string,
  frame: Frame,
): string {
  const name = `${table.place.at(-1)}.${column}`;
  const path = temporary ? ['temp', 'main'] : table.place.slice(0, -1);
  const sequence = quoteNames([...path, name]);
  const options = `START WITH ${start} INCREMENT BY ${increment}`;
  const limits = increment.startsWith('-')
    ? ' MINVALUE -9223372036854775808 MAXVALUE 9223372036854775807'
    : '';
  // The old table needs the old sequence.
  if (replaces)
    frame.before.push(
      `DROP TABLE IF EXISTS ${temporary ? quoteNames([...path, table.place.at(-1) ?? '']) : table.sql}`,
    );
  const temp = temporary ? 'TEMPORARY ' : '';
  frame.before.push(
    ifNotExists
      ? `CREATE ${temp}SEQUENCE IF NOT EXISTS ${sequence} ${options}${limits}`
      : `CREATE OR REPLACE ${temp}SEQUENCE ${sequence} ${options}${limits}`,
  );
  return sequence;
}

/** Adds the statements that declare keys: columns of a primary key have no NULL. */
export function addKeys(table: string, keys: readonly DeclaredKey[], frame: Frame): void {
  const primary = keys.filter(({ kind }) => kind === 'PRIMARY KEY').flatMap(({ columns }) => columns);
  frame.after.push(
    ...primary.map((name) => `ALTER TABLE ${table} ALTER COLUMN ${quoteName(name)} SET NOT NULL`),
    ...declareKeys(table, keys, quoteName),
  );
}

function readInteger(text: string, node: Node, frame: Frame): string {
  if (/^-?\d{1,18}$/.test(text.replaceAll(' ', ''))) return text.replaceAll(' ', '');
  refuse(frame, node, `"${text}" is no start or increment of a column's numbers: use a whole number`);
}
