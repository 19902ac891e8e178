/**
 * Names of expressions without an alias in a SELECT. DuckDB would name a column after the SQL that the
 * expression was translated to; people refer to it as it was written, as in Snowflake.
 */

import { quoteName } from '../tokens/tokens.ts';
import { isGroup, isName, isSymbol, isWord, type Node } from '../tokens/tree.ts';
import { copyNodes, type Frame } from './frame.ts';

/** Longer names than people refer to. */
const nameLimit = 200;

/** ` AS "…"`, or '' if the item needs no name. @param rendered the item's SQL for DuckDB */
export function renderName(nodes: readonly Node[], rendered: string, frame: Frame): string {
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
