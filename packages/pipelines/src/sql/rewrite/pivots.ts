/** PIVOT and UNPIVOT after a table. Names that become values, and values that become names, are the vendor's. */

import { readCallName, translateFunction } from '../functions/index.ts';
import { vendorOf } from '../tokens/names.ts';
import { quoteName, quoteText, readText, type Token } from '../tokens/tokens.ts';
import { type Group, isGroup, isName, isSymbol, isWord, type Node, splitByComma } from '../tokens/tree.ts';
import { copyNodes, copyText, type Frame, refuse } from './frame.ts';

/** A PIVOT whose aggregate DuckDB's PIVOT does not take, as a query of the table. */
export interface PivotQuery {
  readonly next: number;
  readonly of: (table: string) => string;
}

interface PivotParts {
  readonly aggregate: Node;
  readonly args: Group;
  /** '' if the aggregate has no alias. */
  readonly alias: string;
  readonly column: readonly Node[];
  readonly values: readonly (readonly Node[])[];
  /** What a value without rows becomes; undefined: NULL. */
  readonly missing: readonly Node[] | undefined;
}

/** `PIVOT (aggregate(x) [AS alias] FOR column IN (…) [DEFAULT ON NULL (…)])` */
function readPivot(group: Group, frame: Frame): PivotParts | undefined {
  const at = group.nodes.findIndex((node) => isWord(node, 'FOR'));
  const end = group.nodes.findIndex((node, index) => index > at && isWord(node, 'IN'));
  const [aggregate, args, ...named] = group.nodes.slice(0, Math.max(at, 0));
  const list = group.nodes[end + 1];
  if (aggregate === undefined || !isName(aggregate) || !isGroup(args) || end < 0 || !isGroup(list))
    return undefined;
  const name = named.at(-1);
  if (named.length > 2 || (named.length > 0 && !isName(name))) return undefined;
  if (isWord(list.nodes[0], 'ANY', 'SELECT'))
    refuse(frame, list, 'PIVOT needs the values in IN here: list them, as in IN (1, 2)');
  const rest = group.nodes.slice(end + 2);
  const fallback = rest.at(-1);
  const hasDefault = rest.length === 4 && isWord(rest[0], 'DEFAULT') && isGroup(fallback);
  if (rest.length > 0 && !hasDefault) return undefined;
  return {
    aggregate,
    args,
    alias: isName(name) ? name.text : '',
    column: group.nodes.slice(at + 1, end),
    values: splitByComma(list.nodes),
    missing: hasDefault && isGroup(fallback) ? fallback.nodes : undefined,
  };
}

/** Aggregates that DuckDB's PIVOT computes as the vendors do. */
const plainAggregates = new Set(['sum', 'min', 'max', 'count', 'avg', 'any_value']);

/** @returns undefined if DuckDB's PIVOT serves */
export function renderPivotQuery(nodes: readonly Node[], at: number, frame: Frame): PivotQuery | undefined {
  const group = nodes[at + 1];
  if (!isWord(nodes[at], 'PIVOT') || !isGroup(group)) return undefined;
  const parts = readPivot(group, frame);
  if (parts === undefined) return undefined;
  const { aggregate, args, column, missing } = parts;
  const whole = frame.render.expression([aggregate, args], frame);
  if (missing === undefined && plainAggregates.has(readCallName(whole) ?? '')) return undefined;
  const used = args.nodes.filter((node, index) => isName(node) && !isGroup(args.nodes[index + 1]));
  const excluded = [...column.slice(-1), ...used].map((node) => copyNodes(frame, [node]));
  const items = parts.values.map((value) => renderPivotValue(value, parts, frame));
  const list = [`* EXCLUDE (${excluded.join(', ')})`, ...items].join(', ');
  return { next: at + 2, of: (table) => ` (SELECT ${list} FROM${table} GROUP BY ALL)` };
}

/** The aggregate of the rows that have the value, with the name of its column. */
function renderPivotValue(
  item: readonly Node[],
  { aggregate, args, alias, column, missing }: PivotParts,
  frame: Frame,
): string {
  const isNamed = item.length > 2 && isWord(item.at(-2), 'AS');
  const value = isNamed ? item.slice(0, -2) : item;
  const condition = `${frame.render.expression(column, frame)} IS NOT DISTINCT FROM ${frame.render.expression(value, frame)}`;
  const input = isSymbol(args.nodes[0], '*') ? '1' : frame.render.expression(args.nodes, frame);
  const picked = `CASE WHEN ${condition} THEN ${input} END`;
  const dialect = vendorOf(frame.script.names);
  const name = copyNodes(frame, [aggregate]);
  const call = { name: name.toUpperCase(), args: [picked], source: [picked], distinct: false, dialect };
  const sql = translateFunction(call)?.sql ?? `${name}(${picked})`;
  const filled = missing === undefined ? sql : `coalesce(${sql}, ${frame.render.expression(missing, frame)})`;
  const last = item.at(-1);
  const title = isNamed && isName(last) ? last.text : writeTitle(value, frame);
  return `${filled} AS ${quoteName(alias === '' ? title : `${title}_${alias}`)}`;
}

/** The name of the column of a value: Snowflake keeps its quotes. */
function writeTitle(value: readonly Node[], frame: Frame): string {
  const [only] = value;
  if (only?.kind === 'text' && value.length === 1)
    return vendorOf(frame.script.names) === 'redshift' ? readText(only.value) : only.value;
  return copyNodes(frame, value).toLowerCase();
}

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
