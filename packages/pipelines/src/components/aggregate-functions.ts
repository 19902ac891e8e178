/** The aggregate functions of the format as SQL. */
import { ParameterError } from '../expressions/parameters.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';

const functions: Readonly<Record<string, (column: string) => string>> = {
  count: (column) => `count(${column})`,
  'count distinct': (column) => `count(DISTINCT ${column})`,
  sum: (column) => `sum(${column})`,
  average: (column) => `avg(${column})`,
  avg: (column) => `avg(${column})`,
  min: (column) => `min(${column})`,
  minimum: (column) => `min(${column})`,
  max: (column) => `max(${column})`,
  maximum: (column) => `max(${column})`,
  median: (column) => `median(${column})`,
  mode: (column) => `mode(${column})`,
  'any value': (column) => `any_value(${column})`,
  'approximate count distinct': (column) => `approx_count_distinct(${column})`,
  'list aggregate': (column) => `string_agg(CAST(${column} AS VARCHAR), ',')`,
  listagg: (column) => `string_agg(CAST(${column} AS VARCHAR), ',')`,
  'array aggregate': (column) => `list(${column}) FILTER (WHERE ${column} IS NOT NULL)`,
  'array aggregate distinct': (column) => `list(DISTINCT ${column}) FILTER (WHERE ${column} IS NOT NULL)`,
  'standard deviation': (column) => `stddev_samp(${column})`,
  'standard deviation sample': (column) => `stddev_samp(${column})`,
  'sample standard deviation': (column) => `stddev_samp(${column})`,
  'standard deviation population': (column) => `stddev_pop(${column})`,
  'population standard deviation': (column) => `stddev_pop(${column})`,
  variance: (column) => `var_samp(${column})`,
  'sample variance': (column) => `var_samp(${column})`,
  'variance sample': (column) => `var_samp(${column})`,
  'population variance': (column) => `var_pop(${column})`,
  'variance population': (column) => `var_pop(${column})`,
  skew: (column) => `skewness(${column})`,
  kurtosis: (column) => `kurtosis(${column})`,
  'bit and': (column) => `bit_and(${column})`,
  'bit or': (column) => `bit_or(${column})`,
  'bit xor': (column) => `bit_xor(${column})`,
  'bit and aggregate': (column) => `bit_and(${column})`,
  'bit or aggregate': (column) => `bit_or(${column})`,
  'bit xor aggregate': (column) => `bit_xor(${column})`,
  'boolean and': (column) => `bool_and(${column})`,
  'boolean or': (column) => `bool_or(${column})`,
};

/** What is computed from the result. A list of no values is empty, as in SQL's LISTAGG and ARRAY_AGG. */
const completions: Readonly<Record<string, (aggregate: string) => string>> = {
  'list aggregate': (aggregate) => `coalesce(${aggregate}, '')`,
  listagg: (aggregate) => `coalesce(${aggregate}, '')`,
  'array aggregate': (aggregate) => `coalesce(to_json(${aggregate}), CAST('[]' AS JSON))`,
  'array aggregate distinct': (aggregate) => `coalesce(to_json(${aggregate}), CAST('[]' AS JSON))`,
};

/** The words of the most used functions, for the documentation. */
export const aggregateWords =
  'Count, Count Distinct, Sum, Average, Min, Max, Median, Any Value, List Aggregate, Standard Deviation, Variance';

/**
 * @param column quoted
 * @param over the window, if it is not an aggregate of groups
 * @throws ParameterError listing the known functions
 */
export function renderAggregate(
  word: string,
  column: string,
  dialect: Dialect,
  { over = '', within = 'rows' }: { over?: string; within?: 'rows' | 'pivot' } = {},
): string {
  const own = dialect.aggregate(toWords(word), column, over, within);
  if (own !== undefined) return own;
  const aggregate = `${findFunction(word, functions, 'an aggregation')(column)}${over}`;
  return completions[toWords(word)]?.(aggregate) ?? aggregate;
}

export function findFunction<T>(word: string, known: Readonly<Record<string, T>>, what: string): T {
  const words = toWords(word);
  const found = Object.hasOwn(known, words) ? known[words] : undefined;
  if (found === undefined)
    throw new ParameterError(`"${word}" is not ${what}: use one of ${Object.keys(known).join(', ')}`);
  return found;
}

/** The names of functions in the names of columns, where they are not their words. */
const shortNames: Readonly<Record<string, string>> = {
  average: 'avg',
  minimum: 'min',
  maximum: 'max',
  'standard deviation': 'stddev',
  'standard deviation sample': 'stddev_samp',
  'sample standard deviation': 'stddev_samp',
  'standard deviation population': 'stddev_pop',
  'population standard deviation': 'stddev_pop',
  'sample variance': 'var_samp',
  'variance sample': 'var_samp',
  'population variance': 'var_pop',
  'variance population': 'var_pop',
  'list aggregate': 'listagg',
};

/**
 * The default name of a function's column: `Average` of `x` is `avg_x`, `Count Distinct` of `id` `count_distinct_id`.
 */
export function nameFunctionColumn(word: string, column: string): string {
  const words = toWords(word);
  const name = shortNames[words] ?? words.replaceAll(' ', '_');
  return column === '' ? name : `${name}_${column}`;
}

const toWords = (word: string) =>
  word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_]+/g, ' ');
