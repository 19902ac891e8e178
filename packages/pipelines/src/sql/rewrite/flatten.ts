/** FLATTEN and GENERATOR, Snowflake's table functions, as queries of DuckDB. */

import { quoteText, readText } from '../tokens/tokens.ts';
import { type Group, isName, isSymbol, isWord, type Node, splitByComma } from '../tokens/tree.ts';
import { copyNodes, type Frame, refuse } from './frame.ts';
import { renderPath } from './variants.ts';

interface Arguments {
  readonly plain: readonly (readonly Node[])[];
  readonly named: ReadonlyMap<string, readonly Node[]>;
}

function readArguments(group: Group): Arguments {
  const plain: Node[][] = [];
  const named = new Map<string, Node[]>();
  for (const part of splitByComma(group.nodes)) {
    const [key, arrow] = part;
    if (isName(key) && isSymbol(arrow, '=>', ':=')) named.set(key.value.toUpperCase(), part.slice(2));
    else plain.push(part);
  }
  return { plain, named };
}

/** A query in parentheses with SEQ, KEY, PATH, INDEX, VALUE and THIS. */
export function renderFlatten(group: Group, frame: Frame): string {
  const { plain, named } = readArguments(group);
  const known = ['INPUT', 'PATH', 'OUTER', 'RECURSIVE', 'MODE'];
  for (const key of named.keys())
    if (!known.includes(key))
      refuse(frame, group, `FLATTEN has no argument "${key}": use ${known.join(', ')}`);
  const input = named.get('INPUT') ?? plain[0];
  if (input === undefined) refuse(frame, group, 'FLATTEN has no input: write FLATTEN(input => column)');
  const path = readWord(named.get('PATH'), group, frame) ?? '';
  const mode = (readWord(named.get('MODE'), group, frame) ?? 'BOTH').toUpperCase();
  const isRecursive = readFlag(named.get('RECURSIVE'), 'RECURSIVE', group, frame);
  if (isRecursive && mode !== 'BOTH')
    refuse(
      frame,
      group,
      `FLATTEN with RECURSIVE and the mode ${mode} is not supported: use BOTH, and choose rows by KEY or INDEX`,
    );
  const types = { BOTH: "'ARRAY', 'OBJECT'", ARRAY: "'ARRAY'", OBJECT: "'OBJECT'" }[mode];
  if (types === undefined)
    refuse(frame, group, `the mode of FLATTEN is "${mode}": use 'BOTH', 'ARRAY' or 'OBJECT'`);
  const isOuter = readFlag(named.get('OUTER'), 'OUTER', group, frame);
  const value = `CAST(${frame.render.expression(input, frame)} AS JSON)`;
  const whole = path === '' ? value : renderPath(value, readPath(path));
  const from = `(SELECT "this", CASE WHEN json_type("this") IN (${types}) THEN "this" END AS "input" FROM (SELECT ${whole} AS "this") AS "given") AS "flat"`;
  // json_tree also gives the whole value.
  const rows = isRecursive
    ? `(SELECT "key", "value", "fullkey", "path", "parent" FROM json_tree("flat"."input") WHERE "fullkey" <> '$') AS "each"`
    : `json_each("flat"."input") AS "each"`;
  const join = isOuter
    ? `${from} LEFT JOIN LATERAL (SELECT * FROM ${rows}) AS "each" ON TRUE`
    : `${from}, ${rows}`;
  const prefix = quoteText(path);
  const tail = `substr("each"."fullkey", ${path === '' ? `CASE WHEN "each"."fullkey" LIKE '$.%' THEN 3 ELSE 2 END` : '2'})`;
  const isElement = isRecursive ? `"each"."fullkey" LIKE '%]'` : `json_type("flat"."input") = 'ARRAY'`;
  return [
    '(SELECT CAST(NULL AS BIGINT) AS "seq"',
    `CASE WHEN NOT (${isElement}) THEN "each"."key" END AS "key"`,
    `${path === '' ? `coalesce(${tail}, '')` : `${prefix} || coalesce(${tail}, '')`} AS "path"`,
    `CASE WHEN ${isElement} THEN CAST("each"."key" AS BIGINT) END AS "index"`,
    `"each"."value" AS "value"`,
    `${isRecursive ? `coalesce(json_extract("flat"."this", "each"."path"), "flat"."this")` : '"flat"."this"'} AS "this" FROM ${join})`,
  ].join(', ');
}

/** The rows of `GENERATOR(ROWCOUNT => n)`, which have no columns that people read. */
export function renderGenerator(group: Group, frame: Frame): string {
  const { named, plain } = readArguments(group);
  if (named.has('TIMELIMIT')) refuse(frame, group, 'GENERATOR with TIMELIMIT is not supported: use ROWCOUNT');
  const count = named.get('ROWCOUNT') ?? plain[0];
  if (count === undefined) refuse(frame, group, 'GENERATOR has no ROWCOUNT: write GENERATOR(ROWCOUNT => 10)');
  return `range(CAST(${frame.render.expression(count, frame)} AS BIGINT))`;
}

function readWord(nodes: readonly Node[] | undefined, group: Group, frame: Frame): string | undefined {
  if (nodes === undefined) return undefined;
  const [only] = nodes;
  if (nodes.length !== 1 || only?.kind !== 'text')
    refuse(frame, group, `FLATTEN needs a text, not "${copyNodes(frame, nodes)}": write it in single quotes`);
  return readText(only.value);
}

function readFlag(nodes: readonly Node[] | undefined, name: string, group: Group, frame: Frame): boolean {
  if (nodes === undefined) return false;
  if (nodes.length === 1 && isWord(nodes[0], 'TRUE', 'FALSE')) return nodes[0].value === 'TRUE';
  refuse(frame, group, `${name} of FLATTEN is "${copyNodes(frame, nodes)}": use TRUE or FALSE`);
}

/** `a.b[0]['c']` as the steps of a path. */
function readPath(path: string): ({ key: string } | { index: string })[] {
  const steps: ({ key: string } | { index: string })[] = [];
  const step = /(?:^|\.)([A-Za-z_][\w$]*)|(?:^|\.)"((?:[^"]|"")*)"|\[(\d+)\]|\['([^']*)'\]/gy;
  for (const [, plain, quoted, index, key] of path.matchAll(step)) {
    if (index !== undefined) steps.push({ index });
    else steps.push({ key: plain ?? quoted?.replaceAll('""', '"') ?? key ?? '' });
  }
  return steps;
}
