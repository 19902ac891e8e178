/** The state of a walk over the tokens of a query or an expression. */

import { quoteName } from '../tokens/tokens.ts';
import { isGroup, isName, isSymbol, isWord, type Node } from '../tokens/tree.ts';
import { Cursor } from './cursor.ts';
import { copyNodes, type Frame, refuse } from './frame.ts';

export type Clause = 'expression' | 'select' | 'from' | 'other';

export class Walk extends Cursor {
  clause: Clause = 'other';
  expectsTable = false;
  /** The index of the piece where the operand of LIKE and the like begins. */
  termStart = 0;
  /** The piece where the factors before `/` begin, as `a` in `a * b / c`, and the characters in it before them. */
  factors: { readonly piece: number; readonly gap: number } | undefined;
  /** `SELECT TOP n` becomes LIMIT at the end. */
  limit: string | undefined;
  isJoin = false;
  /** The piece where the last table begins. */
  tableStart = 0;
  /** Where the item of a SELECT begins: the index of its node, and of its piece. */
  item: { readonly at: number; readonly piece: number } | undefined;

  /** The names of a SELECT's columns as Snowflake has them, by the names in lower case. */
  columns = new Map<string, string>();

  startSelect(): void {
    this.columns.clear();
    this.startItem();
  }

  startItem(): void {
    if (this.frame.hasNames) this.item = { at: this.at, piece: this.pieces.length };
  }

  endItem(): void {
    if (this.item === undefined) return;
    const { at, piece } = this.item;
    checkColumn(this.nodes.slice(at, this.at), this.columns, this.frame);
    const name = renderName(this.nodes.slice(at, this.at), this.pieces.slice(piece).join(''), this.frame);
    if (name !== '') this.pieces.push(name);
    this.item = undefined;
  }
}

/**
 * DuckDB takes columns for the same whose names differ only in case: a reference to the second would read the first. In
 * Redshift they are the same.
 */
function checkColumn(item: readonly Node[], columns: Map<string, string>, frame: Frame): void {
  const last = item.at(-1);
  if (!isName(last) || frame.script.names.vendor === 'redshift') return;
  const name = last.kind === 'quoted' ? last.value : last.value.toUpperCase();
  const other = columns.get(name.toLowerCase());
  if (other !== undefined && other !== name)
    refuse(
      frame,
      last,
      `two columns of a SELECT are named ${quoteName(other)} and ${quoteName(name)}, which differ only in case: rename one of them`,
    );
  columns.set(name.toLowerCase(), name);
}

/** Longer names than people refer to. */
const nameLimit = 200;

/**
 * ` AS "…"`, or '' if the item needs no name. DuckDB would name a column after the SQL that its expression was
 * translated to; people refer to it as it was written, as in Snowflake.
 *
 * @param rendered the item's SQL for DuckDB
 */
function renderName(nodes: readonly Node[], rendered: string, frame: Frame): string {
  const item = nodes.slice(nodes.findIndex((node) => !isWord(node, 'DISTINCT', 'ALL')));
  const [first, second] = item;
  const last = item.at(-1);
  if (first === undefined || last === undefined || isWord(first, 'ON', 'TOP')) return '';
  // A name at the end may be an alias.
  if (!isGroup(last) && !isWord(last, 'END') && last.kind !== 'text' && last.kind !== 'number') return '';
  const isPrefixed = isName(first) && isSymbol(second, ':');
  const isAll = item.some(
    (node, index) => isSymbol(node, '*') && (index === 0 || isSymbol(item[index - 1], '.')),
  );
  if (isPrefixed || isAll || isWord(first, 'COLUMNS', 'UNNEST')) return '';
  const written = copyNodes(frame, item);
  if (written.length > nameLimit || rendered.trim().endsWith(written)) return '';
  return ` AS ${quoteName(upperCase(written))}`;
}

/** In upper case outside of quotes, on one line. */
function upperCase(sql: string): string {
  return sql.replaceAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|[^'"]+/g, (part) =>
    /^['"]/.test(part) ? part : part.replaceAll(/\s+/g, ' ').toUpperCase(),
  );
}
