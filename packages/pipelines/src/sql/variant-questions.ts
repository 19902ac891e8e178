/**
 * The queries of a statement, by which DuckDB is asked for types: it describes the plans of queries only. The values
 * that UPDATE and MERGE write become the columns of a query (docs/adr/0098-variants-by-the-plan.md).
 */
import { lexicalRules, tokenize, UnterminatedError } from './tokens/tokens.ts';
import {
  buildTree,
  findChainEnd,
  isGroup,
  isName,
  isQuery,
  isSymbol,
  isWord,
  NestingError,
  type Node,
  splitByComma,
} from './tokens/tree.ts';

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A query, and where its parts are in the statement. */
export interface TypeQuestion {
  readonly sql: string;
  readonly parts: readonly { readonly at: number; readonly from: number; readonly to: number }[];
  /** The index of the character at a byte of the query in UTF-8; undefined: it has no such byte. */
  readonly indexOf: (byte: number) => number | undefined;
  /** Where its columns land; undefined: they are not stored. */
  readonly landing?: Landing;
}

export interface Landing {
  /** A query whose columns have the types of the columns of the table. */
  readonly target: string;
  /** Each value; undefined: all columns of the rows of `rows` are stored. */
  readonly values?: readonly Span[];
  readonly rows?: Span;
}

export interface StatementNodes {
  readonly sql: string;
  readonly nodes: readonly Node[];
}

/** Undefined: the SQL cannot be read. */
export function readNodes(sql: string): StatementNodes | undefined {
  try {
    const nodes = buildTree(tokenize(sql, lexicalRules.duckdb).tokens);
    return nodes === undefined ? undefined : { sql, nodes: nodes.filter((node) => !isSymbol(node, ';')) };
  } catch (error) {
    if (error instanceof UnterminatedError || error instanceof NestingError) return undefined;
    throw error;
  }
}

/** Empty for a statement that holds no query and changes no rows. */
export function listTypeQuestions({ sql, nodes }: StatementNodes): TypeQuestion[] {
  const first = nodes[0];
  if (isWord(first, 'INSERT')) return askInsert(sql, nodes);
  if (isWord(first, 'UPDATE')) return askUpdate(sql, nodes);
  if (isWord(first, 'DELETE')) return askDelete(sql, nodes);
  if (isWord(first, 'MERGE')) return askMerge(sql, nodes);
  if (isWord(first, 'CREATE')) {
    const at = nodes.findIndex((node, index) => isWord(node, 'AS') && isQuery(nodes.slice(index + 1)));
    const isStored = nodes.slice(0, Math.max(at, 0)).some((node) => isWord(node, 'TABLE', 'VIEW'));
    return at > 0 && isStored ? askQuery(sql, nodes.slice(at + 1)) : [];
  }
  if (isWord(first, 'COPY')) return isGroup(nodes[1]) ? askQuery(sql, nodes[1].nodes) : [];
  const changes = nodes.some((node) => isWord(node, 'INSERT', 'UPDATE', 'DELETE', 'MERGE'));
  const asks = isQuery(nodes) && !isWord(first, 'PIVOT', 'UNPIVOT', 'DESCRIBE', 'SUMMARIZE', 'TABLE');
  return asks && !(isWord(first, 'WITH') && changes) ? askQuery(sql, nodes) : [];
}

/** Composes a query of parts of the statement. */
class Composition {
  readonly #source: string;
  readonly #parts: { at: number; from: number; to: number }[] = [];
  #sql = '';

  constructor(source: string) {
    this.#source = source;
  }

  write(text: string): this {
    this.#sql += text;
    return this;
  }

  copy(span: Span | undefined): this {
    if (span === undefined) return this;
    this.#parts.push({ at: this.#sql.length, ...span });
    this.#sql += this.#source.slice(span.from, span.to);
    return this;
  }

  finish(landing?: Landing): TypeQuestion {
    const indexOf = createIndexOf(this.#sql);
    return { sql: this.#sql, parts: this.#parts, indexOf, ...(landing === undefined ? {} : { landing }) };
  }
}

function createIndexOf(sql: string): TypeQuestion['indexOf'] {
  let indexes: Map<number, number> | undefined;
  return (byte) => {
    if (indexes === undefined) {
      indexes = new Map();
      let index = 0;
      let bytes = 0;
      for (const character of sql) {
        indexes.set(bytes, index);
        index += character.length;
        const code = character.codePointAt(0) ?? 0;
        bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      }
    }
    return indexes.get(byte);
  };
}

/** Undefined: there are no nodes. */
function spanOf(nodes: readonly Node[]): Span | undefined {
  const [first, last] = [nodes[0], nodes.at(-1)];
  return first === undefined || last === undefined ? undefined : { from: first.from, to: last.to };
}

function askQuery(sql: string, nodes: readonly Node[]): TypeQuestion[] {
  const span = spanOf(nodes);
  return span === undefined ? [] : [new Composition(sql).copy(span).finish()];
}

/** The index of the first of the words outside of CASE, or the end. */
function findWord(nodes: readonly Node[], from: number, ...words: readonly string[]): number {
  let depth = 0;
  for (let index = from; index < nodes.length; index += 1) {
    const node = nodes[index];
    if (depth === 0 && isWord(node, ...words) && !isWord(nodes[index - 1], 'DISTINCT')) return index;
    if (isWord(node, 'CASE')) depth += 1;
    else if (isWord(node, 'END')) depth -= 1;
  }
  return nodes.length;
}

const textOf = (sql: string, { from, to }: Span) => sql.slice(from, to);

function selectColumns(sql: string, table: Span, columns: readonly (readonly Node[])[] | undefined): string {
  const names = columns?.map((column) => textOf(sql, spanOf(column.slice(-1)) ?? table)).join(', ');
  return `SELECT ${names ?? '*'} FROM ${textOf(sql, table)}`;
}

function askInsert(sql: string, nodes: readonly Node[]): TypeQuestion[] {
  const into = nodes.findIndex((node) => isWord(node, 'INTO'));
  const end = findChainEnd(nodes, into + 1);
  const table = spanOf(nodes.slice(into + 1, end));
  if (into < 0 || table === undefined) return [];
  const group = nodes[end];
  const columns = isGroup(group) && !isQuery(group.nodes) ? splitByComma(group.nodes) : undefined;
  const start = columns === undefined ? end : end + 1;
  const conflict = nodes.findIndex((node, at) => isWord(node, 'CONFLICT') && isWord(nodes[at - 1], 'ON'));
  const stop = Math.min(findWord(nodes, start, 'RETURNING'), conflict < 0 ? nodes.length : conflict - 1);
  const query = nodes.slice(start, stop);
  const rows = spanOf(query);
  if (rows === undefined || !isQuery(query)) return [];
  const landing = { target: selectColumns(sql, table, columns), rows };
  return [new Composition(sql).copy(rows).finish(landing)];
}

interface Assignments {
  readonly columns: readonly (readonly Node[])[];
  readonly values: readonly Span[];
}

/** `a = 1, t.b = s.b`. What is written otherwise is left out. */
function readAssignments(nodes: readonly Node[]): Assignments {
  const columns: (readonly Node[])[] = [];
  const values: Span[] = [];
  for (const part of splitByComma(nodes)) {
    const end = findChainEnd(part, 0);
    const value = spanOf(part.slice(end + 1));
    if (end === 0 || !isSymbol(part[end], '=') || value === undefined || isWord(part[end + 1], 'DEFAULT'))
      continue;
    columns.push(part.slice(0, end));
    values.push(value);
  }
  return { columns, values };
}

/** A query of values and conditions; undefined if there are none. */
function selectValues(
  sql: string,
  values: readonly Span[],
  conditions: readonly (Span | undefined)[],
  sources: readonly (Span | undefined)[],
  landing?: Landing,
): TypeQuestion[] {
  const spans = [...values, ...conditions.filter((each) => each !== undefined)];
  if (spans.length === 0) return [];
  const query = new Composition(sql).write('SELECT ');
  for (const [index, span] of spans.entries())
    query
      .write(index === 0 ? '(' : ', (')
      .copy(span)
      .write('\n)');
  for (const [index, source] of sources.filter((each) => each !== undefined).entries())
    query.write(index === 0 ? ' FROM ' : ', ').copy(source);
  return [query.finish(landing)];
}

function askUpdate(sql: string, nodes: readonly Node[]): TypeQuestion[] {
  const set = findWord(nodes, 1, 'SET');
  const named = spanOf(nodes.slice(1, set));
  const table = spanOf(nodes.slice(1, findChainEnd(nodes, 1)));
  if (set === nodes.length || named === undefined || table === undefined) return [];
  const from = findWord(nodes, set, 'FROM');
  const where = findWord(nodes, set, 'WHERE');
  const stop = findWord(nodes, set, 'RETURNING');
  const { columns, values } = readAssignments(nodes.slice(set + 1, Math.min(from, where, stop)));
  const sources = [named, spanOf(nodes.slice(from + 1, Math.min(where, stop)))];
  const landing = { target: selectColumns(sql, table, columns), values };
  return selectValues(sql, values, [spanOf(nodes.slice(where + 1, stop))], sources, landing);
}

function askDelete(sql: string, nodes: readonly Node[]): TypeQuestion[] {
  const from = nodes.findIndex((node) => isWord(node, 'FROM'));
  const where = findWord(nodes, 0, 'WHERE');
  const using = Math.min(findWord(nodes, 0, 'USING'), where);
  const stop = findWord(nodes, where, 'RETURNING');
  if (from < 0) return [];
  const sources = [spanOf(nodes.slice(from + 1, using)), spanOf(nodes.slice(using + 1, where))];
  return selectValues(sql, [], [spanOf(nodes.slice(where + 1, stop))], sources);
}

/** A row that is inserted sees the source only. */
function askMerge(sql: string, nodes: readonly Node[]): TypeQuestion[] {
  const into = nodes.findIndex((node) => isWord(node, 'INTO'));
  const using = findWord(nodes, 1, 'USING');
  const on = findWord(nodes, using, 'ON');
  const table = spanOf(nodes.slice(into + 1, findChainEnd(nodes, into + 1)));
  const target = spanOf(nodes.slice(into + 1, using));
  const source = spanOf(nodes.slice(using + 1, on));
  if (into < 0 || table === undefined || on === nodes.length) return [];
  let when = findWord(nodes, on, 'WHEN');
  const condition = spanOf(nodes.slice(on + 1, when));
  const questions = selectValues(sql, [], [condition], [target, source]);
  while (when < nodes.length) {
    const then = findWord(nodes, when, 'THEN');
    const next = findWord(nodes, then, 'WHEN', 'RETURNING');
    const and = findWord(nodes, when, 'AND');
    const isMatched = isWord(nodes[when + 1], 'MATCHED');
    const sources = isMatched ? [target, source] : [source];
    const conditions = and < then ? [spanOf(nodes.slice(and + 1, then))] : [];
    const { columns, values } = readAction(nodes.slice(then + 1, next));
    const landing = { target: selectColumns(sql, table, columns), values };
    questions.push(...selectValues(sql, values, conditions, sources, landing));
    if (!isWord(nodes[next], 'WHEN')) break;
    when = next;
  }
  return questions;
}

/** `UPDATE SET …`, `INSERT (a, b) VALUES (…)` and `INSERT VALUES (…)`. */
function readAction(nodes: readonly Node[]): {
  columns: readonly (readonly Node[])[] | undefined;
  values: readonly Span[];
} {
  if (isWord(nodes[0], 'UPDATE') && isWord(nodes[1], 'SET')) return readAssignments(nodes.slice(2));
  const none = { columns: undefined, values: [] };
  if (!isWord(nodes[0], 'INSERT')) return none;
  const group = nodes[1];
  const columns = isGroup(group) ? splitByComma(group.nodes) : undefined;
  const rows = nodes.at(-1);
  if (!isWord(nodes.at(-2), 'VALUES') || !isGroup(rows)) return none;
  const parts = splitByComma(rows.nodes);
  if (parts.some((part) => isName(part[0]) && isWord(part[0], 'DEFAULT') && part.length === 1)) return none;
  return { columns, values: parts.map(spanOf).filter((span) => span !== undefined) };
}
