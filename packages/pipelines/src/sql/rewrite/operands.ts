/**
 * Reads the values of expressions: columns, literals, calls, subqueries and CASE, each with the subscripts,
 * paths (`a:b.c[0]`) and casts (`::type`) after it.
 */

import { translateFunction } from '../functions/index.ts';
import { defaultDatabase, placeSchema, vendorOf } from '../tokens/names.ts';
import { quoteName, quoteNames, quoteText, readText, type Token, translateText } from '../tokens/tokens.ts';
import {
  findChainEnd,
  isGroup,
  isName,
  isQuery,
  isSymbol,
  NestingError,
  type Node,
  readChain,
} from '../tokens/tree.ts';
import { isReserved, literalTypes, quotedColumns } from '../tokens/words.ts';
import { parseCall } from './calls.ts';
import { parseCase } from './cases.ts';
import { castTo, isSameCast } from './casts.ts';
import { copyNodes, copyText, type Frame, type Operand, refuse, startsPath, writtenText } from './frame.ts';
import { readType } from './sql-types.ts';
import { placeTable } from './table-names.ts';
import { type PathStep, renderPath } from './variants.ts';

/** Characters of one value. Translations of translations grow, and take time that grows faster. */
const growthLimit = 60_000;
/** Casts of one value, one after the other. Each may use all that is before it several times. */
const castLimit = 50;

export function parseOperand(nodes: readonly Node[], at: number, frame: Frame): Operand | undefined {
  const node = nodes[at];
  if (node === undefined) return undefined;
  if ((node.kind === 'text' || node.kind === 'number') && !isSymbol(nodes[at + 1], '::'))
    return { sql: translateText(writtenText(frame, node)), next: at + 1, isVariant: 'no' };
  const known = frame.operands.get(node);
  // A slice of the same nodes has other positions.
  if (known !== undefined) return { ...known, next: known.next + at };
  const first = parsePrimary(nodes, at, frame);
  if (first === undefined) return undefined;
  const operand = parseSuffixes(nodes, first, frame);
  if (operand.sql.length > growthLimit + 4 * frame.source.length) throw new NestingError();
  frame.operands.set(node, { ...operand, next: operand.next - at });
  return operand;
}

function parsePrimary(nodes: readonly Node[], at: number, frame: Frame): Operand | undefined {
  const node = nodes[at];
  if (node === undefined) return undefined;
  if (node.kind === 'group') return parseGroup(node.value, nodes, at, frame);
  if (node.kind === 'text')
    return { sql: translateText(writtenText(frame, node)), next: at + 1, isVariant: 'no' };
  if (node.kind === 'number') return { sql: writtenText(frame, node), next: at + 1, isVariant: 'no' };
  if (node.kind === 'variable') return { sql: renderVariable(node, frame), next: at + 1, isVariant: 'no' };
  if (node.kind === 'word') {
    if (node.value === 'CASE') return parseCase(nodes, at, frame);
    const literal = parseTypedLiteral(nodes, at, frame);
    if (literal !== undefined) return literal;
    const [text] = nodes.slice(at + 1);
    // DuckDB reads X'A1' as the text xA1.
    if (node.value === 'X' && text?.kind === 'text' && text.from === node.to)
      return { sql: `unhex(${writtenText(frame, text)})`, next: at + 2, isVariant: 'no' };
  }
  if (!isName(node) || isReserved(nodes, at)) return undefined;
  const end = findChainEnd(nodes, at);
  if (isSymbol(nodes[end], '.') && nodes[end + 1]?.kind === 'variable')
    refuse(
      frame,
      node,
      `${copyNodes(frame, nodes.slice(at, end + 2))} is not supported here: write the name of the column`,
    );
  if (isGroup(nodes[end])) return parseCall(nodes, at, end, frame);
  return { ...renderColumn(nodes.slice(at, end), frame), next: end };
}

/** `DATE '2020-01-01'`, `INTERVAL '1 day'`. */
function parseTypedLiteral(nodes: readonly Node[], at: number, frame: Frame): Operand | undefined {
  const [type, text] = [nodes[at], nodes[at + 1]];
  if (type?.kind !== 'word' || text?.kind !== 'text' || !literalTypes.has(type.value)) return undefined;
  const read = type.value === 'INTERVAL' ? undefined : readType(nodes, at, frame);
  // DuckDB wants blanks between the parts of `INTERVAL '1 month, 2 days'`.
  const value = translateText(writtenText(frame, text));
  const sql = `${read?.sql ?? writtenText(frame, type)}${copyText(frame, type.to, text.from)}${read === undefined ? value.replaceAll(',', ' ') : value}`;
  return { sql, next: at + 2, isVariant: 'no' };
}

function parseGroup(open: string, nodes: readonly Node[], at: number, frame: Frame): Operand {
  const group = nodes[at];
  if (group?.kind !== 'group') throw new TypeError('a group was expected');
  const inner = group.nodes;
  const [first, last] = [inner[0], inner.at(-1)];
  if (first === undefined || last === undefined)
    return { sql: copyText(frame, group.from, group.to), next: at + 1, isVariant: 'no' };
  const frameIt = (sql: string) =>
    `${copyText(frame, group.from, first.from)}${sql}${copyText(frame, last.to, group.to)}`;
  if (open === '{') return { sql: frameIt(renderStruct(inner, frame)), next: at + 1, isVariant: 'no' };
  if (open === '(' && !isQuery(inner)) {
    const only = frame.render.operand(inner, 0, frame);
    if (only !== undefined && only.next === inner.length)
      return {
        sql: only.isVariant === 'yes' ? only.sql : frameIt(only.sql),
        next: at + 1,
        isVariant: only.isVariant,
      };
  }
  const sql =
    open === '(' && isQuery(inner) ? frame.render.query(inner, frame) : frame.render.expression(inner, frame);
  return { sql: frameIt(sql), next: at + 1, isVariant: 'no' };
}

/** DuckDB's `{key: value}`. */
function renderStruct(nodes: readonly Node[], frame: Frame): string {
  let sql = '';
  let from = nodes[0]?.from ?? 0;
  let start = 0;
  for (let index = 0; index <= nodes.length; index += 1) {
    const node = nodes[index];
    const isKeyEnd = isSymbol(node, ':') && index - start === 1;
    if (node !== undefined && !isKeyEnd && !isSymbol(node, ',')) continue;
    const part = nodes.slice(start, index);
    const partFrom = part[0]?.from ?? from;
    const end = part.at(-1)?.to ?? partFrom;
    sql += `${copyText(frame, from, partFrom)}${isKeyEnd ? copyNodes(frame, part) : frame.render.expression(part, frame)}`;
    if (node !== undefined) sql += copyText(frame, end, node.to);
    from = node?.to ?? end;
    start = index + 1;
  }
  return sql;
}

function renderVariable(token: Token, frame: Frame): string {
  const name = token.value.slice(1);
  // `$1` is the first column of a table without names.
  if (/^\d/.test(name)) return `#${name}`;
  const key = name.toLowerCase();
  if (!frame.script.variables.has(key))
    refuse(frame, token, `the variable $${name} is not set in this script: add SET ${name} = … before it`);
  return `getvariable('${key}')`;
}

/** A column, with the place of its table before it if that has moved. */
function renderColumn(chain: readonly Node[], frame: Frame): Omit<Operand, 'next'> {
  const names = readChain(chain);
  const written = copyNodes(frame, chain);
  const column = names.at(-1)?.toLowerCase() ?? '';
  const table = names.length > 1 ? (names.at(-2)?.toLowerCase() ?? '') : '';
  if (column === 'seq' && frame.flattened.has(table))
    refuse(frame, chain[0], 'SEQ of FLATTEN is not supported here: use a key of the row, or row_number()');
  if (column === 'nextval' && names.length > 1)
    return { sql: renderNextValue(names.slice(0, -1), frame, chain[0]), isVariant: 'no' };
  const isElement = ['value', 'this'].includes(column) && frame.flattened.has(table);
  if (isElement) return { sql: written, isVariant: 'yes' };
  const bare = names.length === 1 && chain[0]?.kind === 'word' ? chain[0].value : '';
  // The only function of Redshift and Oracle that stands without parentheses and is no word of DuckDB.
  if (bare === 'SYSDATE') {
    const dialect = vendorOf(frame.script.names);
    const call = translateFunction({ name: bare, args: [], source: [], distinct: false, dialect });
    return { sql: call?.sql ?? written, isVariant: 'no' };
  }
  if (quotedColumns.has(bare)) return { sql: quoteName(names[0] ?? ''), isVariant: 'maybe' };
  if (notColumns.has(bare)) return { sql: written, isVariant: 'no' };
  const moved = names.length < 3 ? undefined : findMoved(names, frame);
  return { sql: moved ?? written, isVariant: 'maybe' };
}

/** `sequence.nextval` */
function renderNextValue(names: readonly string[], frame: Frame, node: Node | undefined): string {
  const { path, reference } = placeTable(names, '', frame, node);
  return `nextval(${quoteText(quoteNames([...path, reference.table]))})`;
}

const notColumns = new Set([
  'NULL',
  'TRUE',
  'FALSE',
  'CURRENT_DATE',
  'CURRENT_TIMESTAMP',
  'CURRENT_TIME',
  'SYSDATE',
  'ROWNUM',
]);

/** `schema.table.column` and `database.schema.table.column`. */
function findMoved(names: readonly string[], frame: Frame): string | undefined {
  const lower = names.map((name) => name.toLowerCase());
  for (const { names: table, place } of frame.placed) {
    const known = table.map((name) => name.toLowerCase());
    for (let from = 0; from < known.length - 1; from += 1) {
      const suffix = known.slice(from);
      if (suffix.length >= lower.length || !suffix.every((name, index) => name === lower[index])) continue;
      return quoteNames([...place, ...names.slice(suffix.length)]);
    }
  }
  const [database, schema, ...rest] = names;
  if (rest.length !== 2 || database?.toLowerCase() !== defaultDatabase) return undefined;
  return quoteNames([...placeSchema(database, schema, frame.script.names).path, ...rest]);
}

function parseSuffixes(nodes: readonly Node[], first: Operand, frame: Frame): Operand {
  let operand = first;
  let steps: PathStep[] = [];
  const flush = () => {
    if (steps.length > 0) operand = { ...operand, sql: renderPath(operand.sql, steps), isVariant: 'yes' };
    steps = [];
  };
  let inPath = false;
  let casts = 0;
  for (;;) {
    const node = nodes[operand.next];
    const after = nodes[operand.next + 1];
    const previous = nodes[operand.next - 1];
    if (isSymbol(node, ':') && startsPath(nodes, operand.next) && isName(after)) {
      inPath = true;
      steps.push({ key: keyOf(after) });
      operand = { ...operand, next: operand.next + 2 };
    } else if (inPath && isSymbol(node, '.') && isName(after)) {
      steps.push({ key: keyOf(after) });
      operand = { ...operand, next: operand.next + 2 };
    } else if (isGroup(node, '[') && previous?.to === node.from) {
      inPath ||= operand.isVariant === 'yes' || isPathAfter(nodes, operand.next + 1);
      if (inPath) {
        steps.push(readSubscript(node.nodes, frame));
        operand = { ...operand, next: operand.next + 1 };
      } else operand = subscript(operand, node.nodes, nodes, frame);
    } else if (isSymbol(node, '::')) {
      flush();
      inPath = false;
      const cast = castOperand(operand, nodes, frame);
      if (cast === undefined) return operand;
      casts += 1;
      if (casts > castLimit || cast.sql.length > growthLimit + 4 * frame.source.length)
        throw new NestingError();
      operand = cast;
    } else if (isSymbol(node, '.') && isName(after) && previous?.kind === 'group') {
      operand = { ...operand, sql: `${operand.sql}.${writtenText(frame, after)}`, next: operand.next + 2 };
    } else {
      flush();
      return operand;
    }
  }
}

/** How far to look for a `:`. */
const subscriptLimit = 16;

/** Whether a `:` or a key follows a subscript, as in `a[0]:b`. */
function isPathAfter(nodes: readonly Node[], at: number): boolean {
  let index = at;
  while (isGroup(nodes[index], '[') && index < at + subscriptLimit) index += 1;
  return startsPath(nodes, index);
}

/** The key as written: keys of paths have cases. */
function keyOf(token: Token): string {
  return token.text;
}

function readSubscript(nodes: readonly Node[], frame: Frame): PathStep {
  const [only] = nodes;
  if (nodes.length === 1 && only?.kind === 'number' && /^\d+$/.test(only.value)) return { index: only.value };
  if (nodes.length === 1 && only?.kind === 'text') return { key: readText(only.value) };
  return { sql: frame.render.expression(nodes, frame) };
}

/** DuckDB's subscript or slice, which also takes a JSON value. */
function subscript(operand: Operand, inner: readonly Node[], nodes: readonly Node[], frame: Frame): Operand {
  const group = nodes[operand.next] as Node;
  const isSlice = inner.some((node) => isSymbol(node, ':'));
  const [first, last] = [inner[0], inner.at(-1)];
  const sql =
    isSlice || first === undefined || last === undefined
      ? copyText(frame, group.from, group.to)
      : `${copyText(frame, group.from, first.from)}${frame.render.expression(inner, frame)}${copyText(frame, last.to, group.to)}`;
  return { sql: `${operand.sql}${sql}`, next: operand.next + 1, isVariant: 'maybe' };
}

/** `x::type` */
function castOperand(operand: Operand, nodes: readonly Node[], frame: Frame): Operand | undefined {
  const type = readType(nodes, operand.next + 1, frame);
  if (type === undefined) return undefined;
  const cast = castTo(operand, type, false, nodes[operand.next + 1], frame);
  const isPlain = isSameCast(cast.sql, operand.sql, type);
  const [before, colons, first] = [nodes[operand.next - 1], nodes[operand.next], nodes[operand.next + 1]];
  if (!isPlain || before === undefined || colons === undefined || first === undefined)
    return { ...cast, next: type.next };
  const sql = `${operand.sql}${copyText(frame, before.to, colons.to)}${copyText(frame, colons.to, first.from)}${type.sql}`;
  return { sql, next: type.next, isVariant: cast.isVariant };
}
