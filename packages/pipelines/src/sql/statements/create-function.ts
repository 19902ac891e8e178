/**
 * CREATE FUNCTION … RETURNS, with SQL in its body: a macro of DuckDB. A parameter is cast to its type where it
 * stands, and the value to the type of the function.
 */

import { translatedFunctions } from '../functions/index.ts';
import { copyNodes, createFrame, type Frame, refuse } from '../rewrite/frame.ts';
import { scanTables } from '../rewrite/scan.ts';
import { readType } from '../rewrite/sql-types.ts';
import { makeSchema, placeTable } from '../rewrite/table-names.ts';
import { vendorOf } from '../tokens/names.ts';
import {
  lexicalRules,
  quoteName,
  readText,
  type Token,
  tokenize,
  UnterminatedError,
} from '../tokens/tokens.ts';
import {
  buildTree,
  findChainEnd,
  hasWords,
  isGroup,
  isQuery,
  isSymbol,
  isWord,
  type Node,
  readChain,
  splitByComma,
} from '../tokens/tree.ts';
import type { Modifiers } from './creation.ts';
import type { StatementSql } from './statement-sql.ts';

interface Parameter {
  readonly name: string;
  /** As it was written. */
  readonly type: string;
  /** SQL of its value if a call leaves it out. */
  readonly preset: string | undefined;
}

const notOne =
  'the body of the function is not one query or expression: check its parentheses, and the ends of its texts and comments';
const translated = new Set(translatedFunctions);

export function renderCreateFunction(
  nodes: readonly Node[],
  { at, temporary, replaces }: Modifiers,
  frame: Frame,
): StatementSql {
  const ifNotExists = hasWords(nodes, at + 1, 'IF', 'NOT', 'EXISTS');
  const start = at + (ifNotExists ? 4 : 1);
  const end = findChainEnd(nodes, start);
  const list = nodes[end];
  if (end === start || !isGroup(list))
    refuse(frame, nodes[at], 'CREATE FUNCTION needs a name and parameters, as in f(x INT)');
  const language = nodes.find((_, index) => isWord(nodes[index - 1], 'LANGUAGE'));
  const written = language?.kind === 'word' ? language.value : 'SQL';
  if (written !== 'SQL')
    refuse(
      frame,
      language,
      `a function in ${written} is not supported here: write it in SQL, or use python-script`,
    );
  const name = nameFunction(nodes.slice(start, end), frame);
  const parameters = splitByComma(list.nodes).map((part, index) => readParameter(part, index, frame));
  const body = readBody(nodes, frame);
  const inner = replaceParameters(body, parameters, nodes[at], frame);
  const returns = nodes.findIndex((node) => isWord(node, 'RETURNS'));
  const table = nodes[returns + 2];
  const isTable = isWord(nodes[returns + 1], 'TABLE') && isGroup(table);
  const value = isTable
    ? renderRows(inner, table.nodes, nodes[at], frame)
    : renderValue(inner, nodes, returns, frame);
  const names = parameters.map(({ name: parameter, preset }) =>
    preset === undefined ? quoteName(parameter) : `${quoteName(parameter)} := ${preset}`,
  );
  const isStrict = nodes.some(
    (node, index) => isWord(node, 'STRICT') || hasWords(nodes, index, 'RETURNS', 'NULL', 'ON', 'NULL'),
  );
  const isNull = parameters.map(({ name: parameter }) => `${quoteName(parameter)} IS NULL`).join(' OR ');
  const guarded =
    isStrict && !isTable && isNull !== '' ? `CASE WHEN ${isNull} THEN NULL ELSE ${value} END` : value;
  const head = `CREATE ${replaces ? 'OR REPLACE ' : ''}${temporary ? 'TEMPORARY ' : ''}MACRO ${ifNotExists ? 'IF NOT EXISTS ' : ''}`;
  return {
    sql: `${head}${name}(${names.join(', ')}) AS ${isTable ? `TABLE ${guarded}` : guarded}`,
    kind: 'CREATE FUNCTION',
  };
}

/** Without a schema it is in the default one, where every statement finds it. */
function nameFunction(chain: readonly Node[], frame: Frame): string {
  const names = readChain(chain);
  const [name = ''] = names.toReversed();
  if (translated.has(name.toUpperCase()))
    refuse(frame, chain[0], `"${name}" is a function of the warehouse: give yours another name`);
  if (names.length === 1) return quoteName(name);
  const place = placeTable(names, copyNodes(frame, chain), frame, chain[0]);
  makeSchema(place, frame);
  return place.sql;
}

/** `name type [DEFAULT value]`; in Redshift only a type, whose value is `$1`. */
function readParameter(part: readonly Node[], index: number, frame: Frame): Parameter {
  const only = readType(part, 0, frame);
  const type = readType(part, 1, frame);
  // A name and ARRAY could be the type of an array, which Snowflake does not write so.
  const isNamed = type?.next === part.length && isWord(part[1], 'ARRAY') && part.length === 2;
  if (only !== undefined && only.next === part.length && !isNamed)
    return { name: `argument ${index + 1}`, type: copyNodes(frame, part), preset: undefined };
  const [first] = part;
  if (first === undefined || first.kind === 'group' || type === undefined)
    refuse(frame, first, `"${copyNodes(frame, part)}" is no parameter: write a name and a type`);
  const preset = part.slice(type.next);
  return {
    name: first.text,
    type: copyNodes(frame, part.slice(1, type.next)),
    preset: isWord(preset[0], 'DEFAULT') ? frame.render.expression(preset.slice(1), frame) : undefined,
  };
}

/** The text after AS. */
function readBody(nodes: readonly Node[], frame: Frame): string {
  const as = nodes.findIndex((node, index) => isWord(node, 'AS') && nodes[index + 1]?.kind === 'text');
  const body = nodes[as + 1];
  if (as < 0 || body?.kind !== 'text')
    refuse(frame, nodes[0], 'the body of the function is missing: write AS and its SQL between $$ and $$');
  return readText(body.value).trim().replace(/;$/, '');
}

/** Each parameter with its type. What is a part of a longer name, a call, or an alias stays. */
function replaceParameters(
  body: string,
  parameters: readonly Parameter[],
  at: Node | undefined,
  frame: Frame,
): string {
  const byName = new Map(parameters.map((each) => [each.name.toLowerCase(), each]));
  const tokens = readTokens(body, at, frame);
  let sql = '';
  let copied = 0;
  for (const [index, token] of tokens.entries()) {
    const [before, after] = [tokens[index - 1], tokens[index + 1]];
    const isName = token.kind === 'word' || token.kind === 'quoted';
    const isPart = isSymbol(before, '.') || isSymbol(after, '.', '(', '=>') || isWord(before, 'AS');
    const found =
      token.kind === 'variable'
        ? parameters[Number(token.value.slice(1)) - 1]
        : isName && !isPart
          ? byName.get(token.text.toLowerCase())
          : undefined;
    if (found === undefined) continue;
    sql += `${body.slice(copied, token.from)}${castParameter(found)}`;
    copied = token.to;
  }
  return sql + body.slice(copied);
}

/** A call gives a macro the text of an array or object: the argument of a function that is not known is a text. */
function castParameter({ name, type }: Parameter): string {
  const isNested = /^(?:array|object)$/i.test(type); // not SQL: the name of a type
  return isNested ? `PARSE_JSON(CAST(${quoteName(name)} AS VARCHAR))` : `CAST(${quoteName(name)} AS ${type})`;
}

function readTokens(body: string, at: Node | undefined, frame: Frame): readonly Token[] {
  try {
    const { tokens } = tokenize(body, lexicalRules[vendorOf(frame.script.names)]);
    if (buildTree(tokens) !== undefined && !tokens.some((token) => isSymbol(token, ';'))) return tokens;
  } catch (error) {
    if (!(error instanceof UnterminatedError)) throw error;
  }
  refuse(frame, at, notOne);
}

function renderValue(inner: string, nodes: readonly Node[], returns: number, frame: Frame): string {
  const type = readType(nodes, returns + 1, frame);
  if (returns < 0 || type === undefined) refuse(frame, nodes[returns] ?? nodes[0], 'RETURNS needs a type');
  return renderBody(
    `CAST((\n${inner}\n) AS ${copyNodes(frame, nodes.slice(returns + 1, type.next))})`,
    nodes[0],
    frame,
  );
}

function renderRows(inner: string, columns: readonly Node[], at: Node | undefined, frame: Frame): string {
  const named = splitByComma(columns).map((part) => ({
    name: copyNodes(frame, part.slice(0, 1)),
    type: copyNodes(frame, part.slice(1)),
  }));
  const casts = named.map(({ name, type }) => `CAST(${name} AS ${type}) AS ${name}`);
  return renderBody(
    `SELECT ${casts.join(', ')} FROM (\n${inner}\n) AS "given"(${named.map(({ name }) => name).join(', ')})`,
    at,
    frame,
  );
}

/** SQL with the vendor's words, which is not a part of the script, in those of DuckDB. */
function renderBody(sql: string, at: Node | undefined, frame: Frame): string {
  const { tokens, source } = tokenize(sql, lexicalRules[vendorOf(frame.script.names)]);
  const nodes = buildTree(tokens);
  if (nodes === undefined) refuse(frame, at, notOne);
  const own = createFrame(source, nodes, frame.script, frame.render);
  scanTables(nodes, own);
  const rendered = isQuery(nodes) ? frame.render.query(nodes, own) : frame.render.expression(nodes, own);
  for (const note of own.notes) frame.notes.add(note);
  return rendered;
}
