/** Calls of functions: their arguments, and WITHIN GROUP, FILTER and OVER after them. */
import { SqlError } from '../dialect/dialect.ts';
import { type FunctionCall, type TranslatedCall, translateFunction } from '../functions/index.ts';
import { defaultDatabase, vendorOf } from '../tokens/names.ts';
import { quoteText } from '../tokens/tokens.ts';
import {
  type Group,
  hasWords,
  isGroup,
  isName,
  isQuery,
  isSymbol,
  isWord,
  type Node,
  readChain,
  splitByComma,
} from '../tokens/tree.ts';
import { castTo, isSameCast } from './casts.ts';
import { copyNodes, copyText, type Frame, type Operand, refuse } from './frame.ts';
import { readType } from './sql-types.ts';
import { placeTable } from './table-names.ts';
import { type IsVariant, renderVariantText } from './variants.ts';

/** The clauses after the parenthesis of a call. */
interface Clauses {
  readonly next: number;
  /** What follows ORDER BY in WITHIN GROUP. */
  readonly orderBy?: string;
  readonly nulls?: string;
  readonly filter?: string;
  readonly over?: string;
  /** WITHIN GROUP as it follows a call that stays. */
  readonly within: string;
  /** FILTER and OVER. */
  readonly tail: string;
}

/** @param end the index of the parenthesis after the function's name, which begins at `at` */
export function parseCall(nodes: readonly Node[], at: number, end: number, frame: Frame): Operand {
  const [first, group] = [nodes[at], nodes[end]];
  if (!isGroup(group) || first === undefined) throw new TypeError('a call was expected');
  if (group.nodes.length === 1 && isSymbol(group.nodes[0], '+'))
    refuse(frame, group, 'an outer join by (+) is not supported here: write LEFT JOIN … ON');
  const name = first.kind === 'word' && end === at + 1 ? first.value : '';
  if (name === 'CAST' || name === 'TRY_CAST' || name === 'CONVERT') {
    const cast =
      name === 'CONVERT' ? renderConvertCall(group.nodes, frame) : renderCastCall(name, group.nodes, frame);
    if (cast !== undefined)
      return {
        sql: cast.isPlain ? `${copyNodes(frame, [first])}(${cast.sql})` : cast.sql,
        next: end + 1,
        isVariant: cast.isVariant,
      };
  }
  if (name === 'SAFE_CAST')
    refuse(frame, first, 'SAFE_CAST is a function of BigQuery, which is not supported here: write TRY_CAST');
  const clauses = readClauses(nodes, end + 1, frame);
  const translated =
    name === '' || isQuery(group.nodes) || isTrimOf(name, group)
      ? undefined
      : translate(name, group, clauses, frame);
  if (translated !== undefined)
    return { sql: translated.sql, next: clauses.next, isVariant: translated.isJson ? 'yes' : 'no' };
  const args = isQuery(group.nodes)
    ? frame.render.query(group.nodes, frame)
    : renderArguments(name, group, frame);
  const inner = fill(group, args, frame);
  const called = placeFunction(nodes.slice(at, end), frame) ?? copyText(frame, first.from, group.from);
  const call = `${called}${clauses.nulls === undefined ? inner : `${inner.slice(0, -1)}${clauses.nulls})`}`;
  return { sql: `${call}${clauses.within}${clauses.tail}`, next: clauses.next, isVariant: 'no' };
}

/** `database.schema.function` and `public.function`; undefined: as it was written. */
export function placeFunction(chain: readonly Node[], frame: Frame): string | undefined {
  const names = readChain(chain);
  if (names.length !== 3 && !(names.length === 2 && names[0]?.toLowerCase() === 'public')) return undefined;
  return placeTable(names, '', frame, chain[0]).sql || undefined;
}

/** `TRIM(BOTH 'x' FROM y)` is DuckDB's own. */
function isTrimOf(name: string, { nodes }: Group): boolean {
  return name === 'TRIM' && nodes.some((node) => isWord(node, 'FROM'));
}

/** The parentheses with other content, and with the comments and blanks around it. */
function fill(group: Group, content: string, frame: Frame): string {
  const [first, last] = [group.nodes[0], group.nodes.at(-1)];
  if (first === undefined || last === undefined) return copyText(frame, group.from, group.to);
  return `${copyText(frame, group.from, first.from)}${content}${copyText(frame, last.to, group.to)}`;
}

/** The arguments of a call that stays, with what is between them. */
function renderArguments(name: string, group: Group, frame: Frame): string {
  let sql = '';
  let end: number | undefined;
  for (const part of splitByComma(group.nodes)) {
    const [first, last] = [part[0], part.at(-1)];
    if (first === undefined || last === undefined) continue;
    if (end !== undefined) sql += copyText(frame, end, first.from);
    sql += renderArgument(name, part, frame);
    end = last.to;
  }
  return sql;
}

/** A VARIANT is given to a function as its text, unless the function takes a VARIANT. */
function renderArgument(name: string, part: readonly Node[], frame: Frame): string {
  const operand = frame.render.operand(part, 0, frame);
  if (operand === undefined || operand.next !== part.length) return frame.render.expression(part, frame);
  if (operand.isVariant !== 'yes' || takesVariant(name)) return operand.sql;
  // Whether numbers or texts are compared is known only to the values.
  if (name === 'MAX' || name === 'MIN')
    refuse(frame, part[0], `${name} of a semi-structured value needs its type: add a cast, such as ::number`);
  const text = renderVariantText(operand.sql);
  return numericFunctions.has(name) ? `CAST(${text} AS DOUBLE)` : text;
}

/** As the information schema shows it. DuckDB would answer with the name of its file. */
function nameCurrent(name: string, { script: { names } }: Frame): string | undefined {
  if (name === 'CURRENT_DATABASE') return quoteText(names.database ?? defaultDatabase);
  return name === 'CURRENT_SCHEMA' && names.schema !== undefined ? quoteText(names.schema) : undefined;
}

function translate(name: string, group: Group, clauses: Clauses, frame: Frame): TranslatedCall | undefined {
  const current = group.nodes.length === 0 ? nameCurrent(name, frame) : undefined;
  if (current !== undefined) return { sql: current, append: true, isJson: false };
  const call = readCall(name, group, clauses, frame);
  try {
    const translated = translateFunction(call);
    if (translated === undefined) return undefined;
    return translated.append ? { ...translated, sql: `${translated.sql}${clauses.tail}` } : translated;
  } catch (error) {
    if (error instanceof SqlError) refuse(frame, group, error.message);
    throw error;
  }
}

function readCall(name: string, group: Group, clauses: Clauses, frame: Frame): FunctionCall {
  const args: string[] = [];
  const source: string[] = [];
  const named: Record<string, string> = {};
  let distinct = false;
  let orderBy = clauses.orderBy;
  for (const [index, whole] of splitArguments(name, group.nodes).entries()) {
    let part = whole;
    if (index === 0 && isWord(part[0], 'DISTINCT')) {
      distinct = true;
      part = part.slice(1);
    }
    const order = part.findIndex((_, at) => hasWords(part, at, 'ORDER', 'BY'));
    if (order > 0) {
      orderBy = frame.render.expression(part.slice(order + 2), frame);
      part = part.slice(0, order);
    }
    const key = part[0];
    if (isName(key) && isSymbol(part[1], '=>', ':=')) {
      named[key.value.toLowerCase()] = renderArgument(name, part.slice(2), frame);
      continue;
    }
    args.push(renderArgument(name, part, frame));
    source.push(copyNodes(frame, part));
  }
  return {
    name,
    args,
    source,
    distinct,
    named,
    dialect: vendorOf(frame.script.names),
    ...(orderBy === undefined ? {} : { orderBy }),
    ...(clauses.over === undefined ? {} : { over: clauses.over }),
    ...(clauses.filter === undefined ? {} : { filter: clauses.filter }),
    ignoreNulls: clauses.nulls !== undefined && /ignore/i.test(clauses.nulls),
  };
}

const separators: Readonly<Record<string, readonly string[]>> = {
  EXTRACT: ['FROM'],
  POSITION: ['IN'],
  SUBSTRING: ['FROM', 'FOR'],
  SUBSTR: ['FROM', 'FOR'],
};

/** The arguments, also of `EXTRACT(unit FROM x)`, `POSITION(a IN b)` and `SUBSTRING(x FROM 1 FOR 2)`. */
function splitArguments(name: string, nodes: readonly Node[]): Node[][] {
  const words = separators[name] ?? [];
  const parts: Node[][] = [];
  let from = 0;
  for (const [index, node] of nodes.entries()) {
    if (!isWord(node, ...words)) continue;
    parts.push(nodes.slice(from, index));
    from = index + 1;
  }
  return parts.length === 0 ? splitByComma(nodes) : [...parts, nodes.slice(from)];
}

function readClauses(nodes: readonly Node[], at: number, frame: Frame): Clauses {
  let clauses: Clauses = { next: at, within: '', tail: '' };
  for (;;) {
    const { next, tail } = clauses;
    const [word, group] = [nodes[next], nodes[next + 1]];
    const order = nodes[next + 2];
    const before = nodes[next - 1]?.to ?? 0;
    if (hasWords(nodes, next, 'WITHIN', 'GROUP') && isGroup(order)) {
      const list = order.nodes.slice(2);
      const orderBy = frame.render.expression(list, frame);
      const within = `${copyText(frame, before, list[0]?.from ?? order.to)}${orderBy}${copyText(frame, list.at(-1)?.to ?? order.to, order.to)}`;
      clauses = { ...clauses, orderBy, within, next: next + 3 };
    } else if (isWord(word, 'IGNORE', 'RESPECT') && isWord(group, 'NULLS')) {
      clauses = { ...clauses, nulls: copyText(frame, before, group.to), next: next + 2 };
    } else if (isWord(word, 'FILTER') && isGroup(group)) {
      const condition = frame.render.expression(group.nodes, frame);
      // What follows WHERE.
      const filter = condition.replace(/^where\b\s*/i, '');
      clauses = {
        ...clauses,
        filter,
        tail: `${tail}${copyText(frame, before, group.from)}${fill(group, condition, frame)}`,
        next: next + 2,
      };
    } else if (isWord(word, 'OVER') && (isGroup(group) || isName(group))) {
      const over = frame.render.expression(isGroup(group) ? group.nodes : [group], frame);
      const window = isGroup(group) ? fill(group, over, frame) : over;
      clauses = {
        ...clauses,
        over,
        tail: `${tail}${copyText(frame, before, group.from)}${window}`,
        next: next + 2,
      };
    } else return clauses;
  }
}

const numericFunctions = new Set([
  'SUM',
  'AVG',
  'ROUND',
  'ABS',
  'CEIL',
  'FLOOR',
  'TRUNC',
  'SQRT',
  'POWER',
  'MOD',
  'SIGN',
  'STDDEV',
  'VARIANCE',
  'MEDIAN',
  'DIV0',
]);

const variantTakers = new Set([
  'TYPEOF',
  'GET',
  'GET_PATH',
  'GET_IGNORE_CASE',
  'PARSE_JSON',
  'TRY_PARSE_JSON',
  'TO_JSON',
  'TO_VARIANT',
  'TO_OBJECT',
  'TO_ARRAY',
  'STRIP_NULL_VALUE',
  'COUNT',
  'JSON_EXTRACT',
  'JSON_EXTRACT_STRING',
  'JSON_KEYS',
  'JSON_TYPE',
  'JSON_ARRAY_LENGTH',
  'JSON_EACH',
  'JSON_VALID',
  'TO_JSON_STRING',
  'ARRAY',
  'OBJECT',
  'GET_ARRAY_LENGTH',
  'SUBARRAY',
  'LIST',
  'UNNEST',
]);

function takesVariant(name: string): boolean {
  return variantTakers.has(name) || /^(?:ARRAY|OBJECT|IS|AS|JSON)_/.test(name) || name.startsWith('ARRAYS_');
}

/** Redshift's `CONVERT(type, x)`. */
function renderConvertCall(
  nodes: readonly Node[],
  frame: Frame,
): { sql: string; isVariant: IsVariant; isPlain: boolean } | undefined {
  const [written = [], inner = [], ...more] = splitByComma(nodes);
  const type = readType(written, 0, frame);
  if (inner.length === 0 || more.length > 0 || type === undefined || type.next !== written.length)
    refuse(frame, nodes[0], 'CONVERT takes a type and a value, as in CONVERT(INT, x)');
  const operand = frame.render.operand(inner, 0, frame);
  const isOnly = operand !== undefined && operand.next === inner.length;
  const value = isOnly ? operand : { sql: frame.render.expression(inner, frame), isVariant: 'no' as const };
  return { ...castTo(value, type, false, written[0], frame), isPlain: false };
}

/** `CAST(x AS type)`; undefined if it is written otherwise. `isPlain`: the SQL is what stands in the parentheses. */
function renderCastCall(
  word: string,
  nodes: readonly Node[],
  frame: Frame,
): { sql: string; isVariant: IsVariant; isPlain: boolean } | undefined {
  const at = nodes.findLastIndex((node) => isWord(node, 'AS'));
  const type = at < 1 ? undefined : readType(nodes, at + 1, frame);
  if (type === undefined || type.next !== nodes.length) return undefined;
  const inner = nodes.slice(0, at);
  const operand = frame.render.operand(inner, 0, frame);
  const isOnly = operand !== undefined && operand.next === inner.length;
  const value = isOnly ? operand : { sql: frame.render.expression(inner, frame), isVariant: 'no' as const };
  const cast = castTo(value, type, word === 'TRY_CAST', nodes[at + 1], frame);
  if (!isSameCast(cast.sql, value.sql, type)) return { ...cast, isPlain: false };
  const [last, first] = [inner.at(-1), nodes[at + 1]] as [Node, Node];
  return {
    sql: `${value.sql}${copyText(frame, last.to, first.from)}${type.sql}`,
    isVariant: cast.isVariant,
    isPlain: true,
  };
}
