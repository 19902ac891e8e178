/** One table after FROM, JOIN or USING: its place, Snowflake's table functions, samples and its alias. */

import { vendorOf } from '../tokens/names.ts';
import { quoteNames, readText } from '../tokens/tokens.ts';
import {
  findChainEnd,
  type Group,
  isGroup,
  isName,
  isQuery,
  isSymbol,
  isWord,
  type Node,
  readChain,
} from '../tokens/tree.ts';
import { notAliases } from '../tokens/words.ts';
import { placeFunction } from './calls.ts';
import { renderFlatten, renderGenerator } from './flatten.ts';
import { copyNodes, copyText, type Frame, refuse } from './frame.ts';
import { isInformationSchema, renderInformationSchema } from './information-schema.ts';
import { placeTable } from './table-names.ts';

export interface RenderedTable {
  readonly sql: string;
  /** The index of the node after it and its alias. */
  readonly next: number;
  /** A join with it needs a condition, which Snowflake does without. */
  readonly isFlatten: boolean;
}

export function renderTable(nodes: readonly Node[], at: number, frame: Frame): RenderedTable | undefined {
  const isLateral = isWord(nodes[at], 'LATERAL');
  const start = isLateral ? at + 1 : at;
  const node = nodes[start];
  if (node === undefined) return undefined;
  const lateral = isLateral ? copyText(frame, (nodes[at] as Node).from, node.from) : '';
  const special = renderTableFunction(nodes, start, frame);
  if (special !== undefined) {
    const tail = renderTail(nodes, special.next, frame, special.columns);
    return {
      sql: `${special.isFlatten ? 'LATERAL ' : lateral}${special.sql}${tail.sql}`,
      next: tail.next,
      isFlatten: special.isFlatten,
    };
  }
  if (isSymbol(node, '@'))
    refuse(frame, node, 'a stage (@…) cannot be read here: load its files with file-load or s3-load first');
  if (isGroup(node)) {
    // DuckDB has no table in parentheses by itself.
    const only = isSingleTable(node.nodes) ? renderTable(node.nodes, 0, frame) : undefined;
    if (only?.next === node.nodes.length) {
      const tail = renderTail(nodes, start + 1, frame, '');
      return { ...only, sql: `${lateral}${only.sql}${tail.sql}`, next: tail.next };
    }
    const inner = isQuery(node.nodes)
      ? frame.render.query(node.nodes, frame)
      : frame.render.tables(node.nodes, frame);
    const [first, last] = [node.nodes[0] ?? node, node.nodes.at(-1) ?? node];
    const sql =
      node.nodes.length === 0
        ? copyNodes(frame, [node])
        : `${copyText(frame, node.from, first.from)}${inner}${copyText(frame, last.to, node.to)}`;
    const tail = renderTail(nodes, start + 1, frame, columnsOfValues(node, frame));
    return { sql: `${lateral}${sql}${tail.sql}`, next: tail.next, isFlatten: false };
  }
  const end = findChainEnd(nodes, start);
  if (end === start) return undefined;
  const chain = nodes.slice(start, end);
  const group = nodes[end];
  if (isGroup(group)) {
    const args = group.nodes.length === 0 ? '' : frame.render.expression(group.nodes, frame);
    const [first, last] = [group.nodes[0], group.nodes.at(-1)];
    const called = placeFunction(chain, frame) ?? copyText(frame, node.from, group.from);
    const sql = `${called}${copyText(frame, group.from, first?.from ?? group.to)}${args}${last === undefined ? '' : copyText(frame, last.to, group.to)}`;
    const tail = renderTail(nodes, end + 1, frame, '');
    return { sql: `${lateral}${sql}${tail.sql}`, next: tail.next, isFlatten: false };
  }
  const sql = renderTableName(chain, frame);
  const tail = renderTail(nodes, end, frame, '');
  const isNamed = sql.startsWith('(') && readAlias(nodes, end).alias === '';
  const alias = isNamed ? ` AS ${quoteNames(readChain(chain).slice(-1))}` : '';
  return { sql: `${lateral}${sql}${alias}${tail.sql}`, next: tail.next, isFlatten: false };
}

/** A name, perhaps with an alias or in parentheses, and no join. */
function isSingleTable(nodes: readonly Node[]): boolean {
  const [first] = nodes;
  if (nodes.length === 1 && isGroup(first)) return isSingleTable(first.nodes);
  const end = findChainEnd(nodes, 0);
  return end > 0 && !isQuery(nodes) && readAlias(nodes, end).next === nodes.length;
}

/** The name of a table that is read. */
function renderTableName(chain: readonly Node[], frame: Frame): string {
  const names = readChain(chain);
  const written = copyNodes(frame, chain);
  const [only] = names;
  if (names.length === 1 && only !== undefined && frame.commonTables.has(only.toLowerCase())) return written;
  const table = placeTable(names, written, frame, chain[0]);
  // One row, in Snowflake.
  if (names.length === 1 && /^dual$/i.test(only ?? '') && vendorOf(frame.script.names) === 'snowflake')
    return '(SELECT 1)';
  frame.reads.push(table.reference);
  const described = isInformationSchema(names) ? renderInformationSchema(table.reference) : undefined;
  return described ?? table.sql;
}

interface Special {
  readonly sql: string;
  readonly next: number;
  readonly isFlatten: boolean;
  /** Names of its columns if the alias has none. */
  readonly columns: string;
}

function renderTableFunction(nodes: readonly Node[], at: number, frame: Frame): Special | undefined {
  const [node, group] = [nodes[at], nodes[at + 1]];
  if (node?.kind !== 'word') return undefined;
  if (node.value === 'VALUES') return renderValues(nodes, at, frame);
  if (!isGroup(group)) return undefined;
  if (node.value === 'FLATTEN')
    return { sql: renderFlatten(group, frame), next: at + 2, isFlatten: true, columns: '' };
  if (node.value === 'SPLIT_TO_TABLE' || node.value === 'STRTOK_SPLIT_TO_TABLE')
    refuse(
      frame,
      node,
      `${node.value} is not supported here: write LATERAL FLATTEN(input => SPLIT(text, delimiter))`,
    );
  if (node.value === 'IDENTIFIER')
    return { sql: renderIdentifier(group, frame), next: at + 2, isFlatten: false, columns: '' };
  if (node.value !== 'TABLE') return undefined;
  const inner = group.nodes;
  const [name, args] = inner;
  if (isWord(name, 'SPLIT_TO_TABLE', 'STRTOK_SPLIT_TO_TABLE')) return renderTableFunction(inner, 0, frame);
  if (isWord(name, 'FLATTEN') && isGroup(args))
    return { sql: renderFlatten(args, frame), next: at + 2, isFlatten: true, columns: '' };
  if (isWord(name, 'GENERATOR') && isGroup(args))
    return { sql: renderGenerator(args, frame), next: at + 2, isFlatten: false, columns: '' };
  if (isWord(name, 'RESULT_SCAN'))
    refuse(frame, name, 'RESULT_SCAN cannot be used here: put the query itself in its place');
  if (inner.length === 1 && (name?.kind === 'text' || name?.kind === 'variable'))
    return { sql: renderIdentifier(group, frame), next: at + 2, isFlatten: false, columns: '' };
  const end = findChainEnd(inner, 0);
  if (isGroup(inner[end]))
    return { sql: frame.render.expression(inner, frame), next: at + 2, isFlatten: false, columns: '' };
  return undefined;
}

/** `VALUES (1), (2)` without parentheses around it. */
function renderValues(nodes: readonly Node[], at: number, frame: Frame): Special {
  let next = at + 1;
  while (isGroup(nodes[next])) next += isSymbol(nodes[next + 1], ',') && isGroup(nodes[next + 2]) ? 2 : 1;
  const rows = nodes.slice(at + 1, next);
  const [first] = rows;
  const columns = isGroup(first) ? nameColumns(countColumns(first)) : '';
  return { sql: `(VALUES ${frame.render.expression(rows, frame)})`, next, isFlatten: false, columns };
}

const countColumns = (row: Group) => row.nodes.filter((node) => isSymbol(node, ',')).length + 1;

const nameColumns = (count: number) =>
  `(${Array.from({ length: count }, (_, index) => `column${index + 1}`).join(', ')})`;

/** Snowflake names the columns of `(VALUES …)` column1, column2, …; DuckDB's own SQL reads col0, col1, …. */
export function columnsOfValues(group: Group, frame: Frame): string {
  const [values, row] = group.nodes;
  if (!isWord(values, 'VALUES') || !isGroup(row) || /\bcol\d/i.test(frame.source)) return '';
  return nameColumns(countColumns(row));
}

/** `IDENTIFIER('name')` and `IDENTIFIER($variable)`: the name of a table. */
export function renderIdentifier(group: Group, frame: Frame): string {
  const names = readIdentifier(group, frame);
  const table = placeTable(names, '', frame, group);
  frame.reads.push(table.reference);
  return quoteNames([...table.path, table.reference.table]);
}

/** The names in a text or variable. @throws SqlError if it is not known before the statement runs */
export function readIdentifier(group: Group, frame: Frame): string[] {
  const value = readParts(group.nodes, frame);
  if (value === undefined)
    refuse(
      frame,
      group,
      `IDENTIFIER needs a text, or a variable that the script sets to a text, not "${copyNodes(frame, group.nodes)}"`,
    );
  return value.split('.').map((name) => name.trim().replaceAll(/^"|"$/g, ''));
}

/** Texts and variables joined by `||`; undefined if one is not known. */
function readParts(nodes: readonly Node[], frame: Frame): string | undefined {
  let value = '';
  for (const [index, node] of nodes.entries()) {
    if (index % 2 === 1) {
      if (!isSymbol(node, '||')) return undefined;
      continue;
    }
    const part =
      node.kind === 'text'
        ? readText(node.value)
        : node.kind === 'variable'
          ? frame.script.variables.get(node.value.slice(1).toLowerCase())
          : undefined;
    if (part === undefined) return undefined;
    value += part;
  }
  return nodes.length % 2 === 1 ? value : undefined;
}

export function readAlias(nodes: readonly Node[], at: number): { alias: string; next: number } {
  const start = isWord(nodes[at], 'AS') ? at + 1 : at;
  const node = nodes[start];
  if (!isName(node) || (node.kind === 'word' && notAliases.has(node.value))) return { alias: '', next: at };
  return { alias: node.value, next: start + 1 };
}

interface Tail {
  readonly sql: string;
  readonly next: number;
}

/** What follows a table: its alias with its columns, and a sample. Time travel is refused. */
function renderTail(nodes: readonly Node[], at: number, frame: Frame, columns: string): Tail {
  let sql = '';
  let sample = '';
  let next = at;
  const before = readSample(nodes, next, frame);
  if (before !== undefined) ({ sql: sample, next } = before);
  if (isWord(nodes[next], 'AT', 'BEFORE', 'CHANGES') && isGroup(nodes[next + 1]))
    refuse(
      frame,
      nodes[next],
      `${(nodes[next] as { value: string }).value}(…), time travel, is not supported here: remove it`,
    );
  if (isWord(nodes[next], 'MATCH_RECOGNIZE'))
    refuse(frame, nodes[next], 'MATCH_RECOGNIZE is not supported here: use window functions');
  const { next: end } = readAlias(nodes, next);
  if (end > next) {
    const list = isGroup(nodes[end]) ? end + 1 : end;
    const from = nodes[next - 1]?.to ?? 0;
    sql = `${copyText(frame, from, (nodes[list - 1] as Node).to)}${list === end ? columns : ''}`;
    next = list;
  } else if (columns !== '') sql = ` AS "values"${columns}`;
  const after = before ?? readSample(nodes, next, frame);
  if (before === undefined && after !== undefined) ({ sql: sample, next } = after);
  return { sql: `${sql}${sample}`, next };
}

/** SAMPLE and TABLESAMPLE: a number is percent of the rows unless ROWS follows it. */
function readSample(nodes: readonly Node[], at: number, frame: Frame): Tail | undefined {
  if (!isWord(nodes[at], 'SAMPLE', 'TABLESAMPLE')) return undefined;
  const method = nodes[at + 1];
  const size = isWord(method, 'BERNOULLI', 'ROW', 'SYSTEM', 'BLOCK', 'RESERVOIR') ? at + 2 : at + 1;
  const group = nodes[size];
  if (!isGroup(group)) return undefined;
  const [count, unit] = group.nodes;
  if (count === undefined || group.nodes.length > 2) return undefined;
  let next = size + 1;
  let seed = '';
  if (isWord(nodes[next], 'SEED', 'REPEATABLE') && isGroup(nodes[next + 1])) {
    seed = ` REPEATABLE ${copyNodes(frame, [nodes[next + 1] as Node])}`;
    next += 2;
  }
  if (isWord(unit, 'ROWS'))
    return { sql: ` TABLESAMPLE reservoir(${copyNodes(frame, [count])} ROWS)${seed}`, next };
  const isBlock = isWord(method, 'SYSTEM', 'BLOCK');
  const percent = frame.render.expression([count], frame);
  return { sql: ` TABLESAMPLE ${isBlock ? 'system' : 'bernoulli'}(${percent} PERCENT)${seed}`, next };
}

/** Whether a join without a condition follows the table at a position. */
export function lacksCondition(nodes: readonly Node[], next: number): boolean {
  return !isWord(nodes[next], 'ON', 'USING');
}
