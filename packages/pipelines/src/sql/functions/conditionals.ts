/** Functions that choose, compare and replace NULL. */
import {
  argumentAt,
  define,
  type FunctionCall,
  type FunctionEntry,
  type FunctionTable,
  many,
} from './call.ts';
import { alignNumbers, asBoolean, asText, bindOnce, group, isLiteral, mayBeJson } from './expressions.ts';
import { readText } from './literals.ts';

/** A JSON value beside a text is a text, because a text is rarely valid JSON. A text beside a number is a number. */
function alignValues(args: readonly string[]): readonly string[] {
  const hasText = args.some((each) => readText(each) !== undefined);
  if (!hasText) return alignNumbers(args);
  return args.map((each) => (mayBeJson(each) ? asText(each) : each));
}

const coalesce: FunctionEntry = define(1, many, ({ args }) => `coalesce(${alignValues(args).join(', ')})`);

/** NULL equals NULL here. */
function decode(call: FunctionCall): string | undefined {
  // DuckDB's decode(blob).
  if (call.args.length < 3) return undefined;
  const [first = '', ...pairs] = call.args;
  const isResult = (index: number) => index % 2 === 1 || index === pairs.length - 1;
  const [value = '', ...searches] = alignValues([first, ...pairs.filter((_, index) => !isResult(index))]);
  const results = alignValues(pairs.filter((_, index) => isResult(index)));
  return bindOnce([value], (name = '') => {
    const cases = searches.map((search, index) => {
      const isNull = search.trim().toUpperCase() === 'NULL';
      const plain = isLiteral(search) && !isNull;
      const test = plain ? `${name} = ${search}` : `${name} IS NOT DISTINCT FROM ${group(search)}`;
      return `WHEN ${isNull ? `${name} IS NULL` : test} THEN ${results[index]}`;
    });
    const otherwise = results.length > searches.length ? ` ELSE ${results.at(-1)}` : '';
    return `CASE ${cases.join(' ')}${otherwise} END`;
  });
}

/** Snowflake gives NULL if any value is NULL; DuckDB and Redshift ignore NULLs. */
function pickExtreme(call: FunctionCall): string | undefined {
  if (call.dialect === 'redshift') return undefined;
  const name = call.name.toLowerCase();
  return bindOnce(call.args, (...names) => {
    const nullable = names.filter((each) => !isLiteral(each) || each.toUpperCase() === 'NULL');
    const picked = `${name}(${names.join(', ')})`;
    if (nullable.length === 0) return picked;
    return `CASE WHEN ${nullable.map((each) => `${each} IS NOT NULL`).join(' AND ')} THEN ${picked} END`;
  });
}

const truth = (sql: string | undefined) => `CAST(${sql} AS BOOLEAN)`;

export const conditionals: FunctionTable = {
  IFF: define(3, 3, ({ args: [condition = '', yes = '', no = ''] }) => {
    const [first, second] = alignValues([yes, no]);
    return `CASE WHEN ${asBoolean(condition)} THEN ${first} ELSE ${second} END`;
  }),
  NVL: coalesce,
  IFNULL: coalesce,
  ISNULL: coalesce,
  COALESCE: define(1, many, ({ args }) => {
    const aligned = alignValues(args);
    return aligned === args || aligned.every((each, index) => each === args[index])
      ? undefined
      : `coalesce(${aligned.join(', ')})`;
  }),
  NVL2: define(3, 3, ({ args: [value, yes = '', no = ''] }) => {
    const [first, second] = alignValues([yes, no]);
    return `CASE WHEN ${value} IS NOT NULL THEN ${first} ELSE ${second} END`;
  }),
  NULLIF: define(2, 2, ({ args }) => {
    const aligned = alignValues(args);
    return aligned === args ? undefined : `nullif(${aligned.join(', ')})`;
  }),
  ZEROIFNULL: define(1, 1, (call) => `coalesce(${alignValues([argumentAt(call, 0), '0']).join(', ')})`),
  NULLIFZERO: define(1, 1, (call) => `nullif(${argumentAt(call, 0)}, 0)`),
  DECODE: define(1, many, decode),
  EQUAL_NULL: define(
    2,
    2,
    ({ args: [left = '', right = ''] }) => `(${group(left)} IS NOT DISTINCT FROM ${group(right)})`,
  ),
  GREATEST: define(1, many, pickExtreme),
  LEAST: define(1, many, pickExtreme),
  GREATEST_IGNORE_NULLS: define(1, many, ({ args }) => `greatest(${args.join(', ')})`),
  LEAST_IGNORE_NULLS: define(1, many, ({ args }) => `least(${args.join(', ')})`),
  BOOLAND: define(2, 2, ({ args }) => `(${truth(args[0])} AND ${truth(args[1])})`),
  BOOLOR: define(2, 2, ({ args }) => `(${truth(args[0])} OR ${truth(args[1])})`),
  BOOLXOR: define(2, 2, ({ args }) => `(${truth(args[0])} <> ${truth(args[1])})`),
  BOOLNOT: define(1, 1, ({ args }) => `(NOT ${truth(args[0])})`),
};
