/**
 * The tables that a statement of a test writes to, by its words, and those whose `rowid` it may read. They get a copy
 * before the statement runs. A table that is missed here has none, and then DuckDB refuses the statement: nothing
 * depends on this list for the safety of the real data.
 */
import type { Word } from '../statements/sql-words.ts';

export interface WrittenName {
  /** Undefined: the default schema. */
  schema: string | undefined;
  table: string;
  /** Whether the statement needs the rows, or only a table of this structure. */
  needsRows: boolean;
}

export function listWrittenNames(words: readonly Word[]): WrittenName[] {
  const [first] = words;
  const found: WrittenName[] = [];
  const add = (at: number, needsRows: boolean): number => {
    const { parts, next } = readName(words, at);
    const table = parts.at(-1);
    if (table !== undefined) found.push({ schema: parts.at(-2), table, needsRows });
    return next;
  };
  for (const [index, word] of words.entries()) {
    if (word.kind !== 'name') continue;
    const next = words[index + 1]?.value;
    const before = words[index - 1]?.value ?? '';
    if (word.value === 'into') add(index + 1, true);
    else if (word.value === 'update' && next !== 'set' && !['for', 'do', 'then'].includes(before))
      add(index + 1, true);
    else if (word.value === 'delete' && next === 'from')
      add(index + 2, readName(words, index + 2).next < words.length);
  }
  if (first?.value === 'truncate') add(skipWords(words, 1, ['table', 'if', 'exists']), false);
  if (first?.value === 'alter') add(skipWords(words, 1, ['table', 'view', 'if', 'exists']), true);
  if (first?.value === 'copy') add(1, true);
  if (first?.value === 'comment') addCommented(words, add);
  if (first?.value === 'drop') {
    let at = skipWords(words, 1, ['table', 'view', 'if', 'exists']);
    for (at = add(at, false); words[at]?.value === ','; ) at = add(at + 1, false);
  }
  if (first?.value === 'create') addCreated(words, add);
  if (words.some(isRowId)) addRead(words, add);
  return found;
}

const isRowId = ({ kind, value }: Word) => kind !== 'text' && value.toLowerCase() === 'rowid';

/** A table has a `rowid`, the view that stands in for it has none. So the tables that are read get a copy, too. */
function addRead(words: readonly Word[], add: Add): void {
  for (const [index, { kind, value }] of words.entries())
    if (kind === 'name' && ['from', 'join', 'using'].includes(value)) add(index + 1, true);
}

/** Whether a name may stop meaning a table of the test, so that it must not mean the real one. */
export function takesNamesAway(words: readonly Word[]): boolean {
  const [first] = words;
  return (
    first?.value === 'drop' ||
    (first?.value === 'alter' && words.some(({ kind, value }) => kind === 'name' && value === 'rename'))
  );
}

type Add = (at: number, needsRows: boolean) => number;

function addCommented(words: readonly Word[], add: Add): void {
  const of = words[2]?.value;
  if (of === 'table' || of === 'view') add(3, true);
  if (of !== 'column') return;
  // The last part of the name is the column.
  const { next } = readName(words, 3);
  const table = words.slice(0, Math.max(0, next - 2));
  if (readName(table, 3).next === table.length) add(3, true);
}

function addCreated(words: readonly Word[], add: Add): void {
  const made = words.findIndex(
    ({ kind, value }) => kind === 'name' && ['table', 'view', 'index'].includes(value),
  );
  if (made < 0) return;
  if (words[made]?.value === 'index') {
    const on = words.findIndex(({ kind, value }, index) => index > made && kind === 'name' && value === 'on');
    if (on > 0) add(on + 1, true);
    return;
  }
  // A stand-in is there already, and the statement does nothing.
  if (words[made + 1]?.value === 'if') return;
  const { parts } = readName(words, made + 1);
  const table = parts.at(-1);
  const uses = words.filter(({ kind, value }) => kind !== 'text' && kind !== 'symbol' && value === table);
  // `CREATE OR REPLACE TABLE t AS … FROM t` reads the rows.
  add(made + 1, uses.length > 1);
}

function skipWords(words: readonly Word[], from: number, skipped: readonly string[]): number {
  let at = from;
  while (words[at]?.kind === 'name' && skipped.includes(words[at]?.value ?? '')) at += 1;
  return at;
}

/** `catalog.schema.table`, with one to three parts, and where the words go on. */
function readName(words: readonly Word[], from: number): { parts: string[]; next: number } {
  const parts: string[] = [];
  let next = from;
  for (;;) {
    const word = words[next];
    if (word?.kind !== 'name' && word?.kind !== 'quoted') break;
    parts.push(word.value);
    next += 1;
    if (words[next]?.kind !== 'symbol' || words[next]?.value !== '.') break;
    next += 1;
  }
  return { parts, next };
}
