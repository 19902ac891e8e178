/** PIVOT and UNPIVOT after a table. Names that become values, and values that become names, are the vendor's. */

import { quoteName, quoteText, type Token } from '../tokens/tokens.ts';
import { type Group, isGroup, isName, isWord, type Node, splitByComma } from '../tokens/tree.ts';
import { copyNodes, copyText, type Frame } from './frame.ts';

/** @returns the SQL of the parenthesis, and the index of the node after it; undefined for a form of DuckDB */
export function renderPivot(
  nodes: readonly Node[],
  at: number,
  frame: Frame,
): { sql: string; next: number } | undefined {
  const word = nodes[at];
  const open =
    isWord(nodes[at + 1], 'INCLUDE', 'EXCLUDE') && isWord(nodes[at + 2], 'NULLS') ? at + 3 : at + 1;
  const group = nodes[open];
  if (word === undefined || !isGroup(group)) return undefined;
  const list = group.nodes.findLastIndex((node) => isGroup(node));
  const values = group.nodes[list];
  if (!isGroup(values) || !isWord(group.nodes[list - 1], 'IN')) return undefined;
  const isRedshift = frame.script.names.vendor === 'redshift';
  const name = isWord(word, 'UNPIVOT') ? nameValue : isRedshift ? undefined : nameColumn;
  const head = isWord(word, 'PIVOT')
    ? frame.render.expression(group.nodes.slice(0, list - 1), frame)
    : copyNodes(frame, group.nodes.slice(0, list - 1));
  const items = splitByComma(values.nodes).map(
    (item) => name?.(item, frame) ?? frame.render.expression(item, frame),
  );
  const start = copyText(frame, word.from, group.from);
  return {
    sql: `${start}(${head} IN (${items.join(', ')})${renderRest(group, list, frame)})`,
    next: open + 1,
  };
}

function renderRest(group: Group, list: number, frame: Frame): string {
  const rest = group.nodes.slice(list + 1);
  return rest.length === 0 ? '' : ` ${copyNodes(frame, rest)}`;
}

/** The name of a column, or its alias, as the value that UNPIVOT makes of it. */
function nameValue(item: readonly Node[], frame: Frame): string | undefined {
  const last = item.at(-1);
  const isAlias = item.length > 2 && isWord(item.at(-2), 'AS');
  if (!isName(last) || (item.length > 1 && !isAlias)) return undefined;
  const column = isAlias ? item.slice(0, -2) : item;
  return `${copyNodes(frame, column)} AS ${quoteText(foldName(last, frame))}`;
}

/** A name without quotes as the vendor keeps it. */
function foldName({ kind, text }: Token, frame: Frame): string {
  if (kind === 'quoted') return text;
  return frame.script.names.vendor === 'redshift' ? text.toLowerCase() : text.toUpperCase();
}

/** Snowflake names the column of a value as the value is written, with its quotes. */
function nameColumn(item: readonly Node[], frame: Frame): string | undefined {
  const [only] = item;
  if (item.length !== 1 || only?.kind !== 'text') return undefined;
  return `${frame.render.expression(item, frame)} AS ${quoteName(only.value)}`;
}
