/**
 * The functions of Snowflake and Redshift that DuckDB has not, has under another name, or that mean something
 * else there. The rewriter calls `translateFunction` for each call, innermost first.
 */
import { SqlError } from '../dialect/dialect.ts';
import { aggregates } from './aggregates.ts';
import {
  type FunctionCall,
  type FunctionEntry,
  type FunctionTable,
  refuseCall,
  type TranslatedCall,
} from './call.ts';
import { conditionals } from './conditionals.ts';
import { dateArithmetic } from './date-arithmetic.ts';
import { dateConversions } from './date-conversions.ts';
import { dateParts } from './date-parts.ts';
import { hashes } from './hashes.ts';
import { jsonArrays } from './json-arrays.ts';
import { jsonObjects } from './json-objects.ts';
import { jsonValues } from './json-values.ts';
import { numberConversions } from './number-conversions.ts';
import { numbers } from './numbers.ts';
import { regularExpressions } from './regular-expressions.ts';
import { session } from './session.ts';
import { strings } from './strings.ts';
import { textConversions } from './text-conversions.ts';

export type { FunctionCall, SourceDialect, TranslatedCall } from './call.ts';
export { translateCast } from './casts.ts';
export { addInterval } from './date-arithmetic.ts';
export { refuseZero, renderDivision } from './division.ts';
export { alignNumbers, readCallName } from './expressions.ts';
export { readTextLength, writeJoined } from './text-conversions.ts';

const tables: readonly FunctionTable[] = [
  aggregates,
  conditionals,
  dateArithmetic,
  dateConversions,
  dateParts,
  hashes,
  jsonArrays,
  jsonObjects,
  jsonValues,
  numberConversions,
  numbers,
  regularExpressions,
  session,
  strings,
  textConversions,
];
const entries = new Map<string, FunctionEntry>(tables.flatMap((table) => Object.entries(table)));

/** Some translations repeat an argument, so that nested calls could grow without bounds. */
const longestSql = 1_000_000;

/** The names in the tables, in upper case. */
export const translatedFunctions: readonly string[] = [...entries.keys()].sort();

/**
 * SQL of DuckDB for the call; undefined: the call stays as it is, with its translated arguments.
 *
 * @throws SqlError naming the function and the remedy
 */
export function translateFunction(call: FunctionCall): TranslatedCall | undefined {
  if (call.name.startsWith('SYSTEM$')) {
    refuseCall(call.name, 'functions of the vendor’s system are not supported here: remove the call');
  }
  const entry = entries.get(call.name);
  if (entry === undefined) return undefined;
  const count = call.args.length;
  if (count < entry.least || count > entry.most) {
    throw new SqlError(`${call.name} takes ${describeCount(entry)}, not ${count}`);
  }
  const sql = entry.translate(call);
  if (sql === undefined) return undefined;
  if (sql.length > longestSql) {
    refuseCall(call.name, 'the expression is nested too deeply: compute a part of it in a subquery');
  }
  return { sql, append: !entry.placesClauses, isJson: givesJson(call.name) };
}

const jsonFunctions = new Set(
  'GET GET_PATH GET_IGNORE_CASE PARSE_JSON TRY_PARSE_JSON JSON_PARSE TO_VARIANT TO_OBJECT TO_ARRAY STRIP_NULL_VALUE AS_ARRAY AS_OBJECT SPLIT SPLIT_TO_ARRAY STRTOK_TO_ARRAY SUBARRAY REGEXP_SUBSTR_ALL PARSE_URL ARRAY ARRAYAGG OBJECT'.split(
    ' ',
  ),
);

function givesJson(name: string): boolean {
  if (/^ARRAY_(?:SIZE|CONTAINS|POSITION|TO_STRING)$/.test(name)) return false;
  return jsonFunctions.has(name) || /^(?:ARRAY|OBJECT)_/.test(name);
}

function describeCount({ least, most }: FunctionEntry): string {
  const plural = (count: number) => `${count} argument${count === 1 ? '' : 's'}`;
  if (least === most) return least === 0 ? 'no arguments' : plural(least);
  return most === Number.POSITIVE_INFINITY ? `at least ${plural(least)}` : `${least} to ${plural(most)}`;
}
