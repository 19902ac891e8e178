/** Aggregates and window functions. */
import {
  argumentAt,
  define,
  defineOverRows,
  type FunctionCall,
  type FunctionEntry,
  type FunctionTable,
  many,
  refuse,
  refuseCall,
} from './call.ts';
import { castToQuotient, renderMean } from './division.ts';
import { asBoolean, asNumber, asText, group, mayBeJson, readKnownType } from './expressions.ts';
import { asJson, writeJson } from './json-values.ts';
import { renderAllColumns, renderSignedHash, rowSequence } from './numbers.ts';

/** FILTER and OVER of the call, with conditions and a frame of the translation. */
function renderClauses(
  call: FunctionCall,
  { condition, frame }: { condition?: string; frame?: string } = {},
): string {
  const conditions = [call.filter, condition].filter((each) => each !== undefined && each !== '');
  const filter =
    conditions.length === 0
      ? ''
      : ` FILTER (WHERE ${conditions.length === 1 ? conditions[0] : conditions.map((each) => `(${each})`).join(' AND ')})`;
  if (call.over === undefined) return filter;
  // Windows cannot be nested, and the order of the rows is the one that they have.
  const over = call.over.replaceAll(rowSequence, '1');
  const window = frame === undefined || hasFrame(over) ? over : `${over} ${frame}`;
  return `${filter} OVER (${window.trim()})`;
}

/** Whether a window says which rows around the current one it has. */
export function hasFrame(over: string): boolean {
  const bare = over.replaceAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"/g, ' ');
  return /\b(?:rows|range|groups)\s+(?:between|unbounded|current|\d)/i.test(bare);
}

const distinctOf = (call: FunctionCall) => (call.distinct ? 'DISTINCT ' : '');
const orderOf = (call: FunctionCall) =>
  call.orderBy === undefined ? '' : ` ORDER BY ${call.orderBy.replace(/^\s*order\s+by\s+/i, '')}`;

/** An aggregate of numbers: a text or a JSON value becomes a number. */
const ofNumbers = (name: string): FunctionEntry =>
  define(1, 1, (call) => {
    const value = argumentAt(call, 0);
    const number = asNumber(value);
    return number === value ? undefined : `${name}(${distinctOf(call)}${number})`;
  });

/**
 * The mean has the scale of a quotient in Snowflake, and is whole for whole numbers in Redshift. DuckDB's is always a
 * DOUBLE.
 */
function averageByType(call: FunctionCall): string {
  const value = asNumber(argumentAt(call, 0));
  const clauses = renderClauses(call);
  const aggregate = (name: string) => `${name}(${distinctOf(call)}${value})${clauses}`;
  const mean = aggregate('avg');
  if (/^(?:DOUBLE|FLOAT|REAL)/.test(readKnownType(value) ?? '')) return mean;
  return renderMean(
    { mean, sum: aggregate('sum'), count: aggregate('count'), least: `min(${value})${clauses}` },
    call.dialect,
  );
}

/** In Snowflake a NUMBER for numbers with a fixed scale, with the scale of a mean. */
const variance = (name: string): FunctionEntry =>
  defineOverRows(1, 1, (call) => {
    const value = asNumber(argumentAt(call, 0));
    const clauses = renderClauses(call);
    const spread = `${name}(${distinctOf(call)}${value})${clauses}`;
    if (call.dialect === 'redshift') return spread;
    return renderMean({ mean: spread, sum: '', count: '', least: `min(${value})${clauses}` }, call.dialect);
  });

/** '' in Snowflake and NULL in Redshift if there is no text. */
function joinTexts(call: FunctionCall): string {
  const [value = '', delimiter = "''"] = call.args;
  const text = mayBeJson(value) ? asText(value) : value;
  const joined = `string_agg(${distinctOf(call)}${text}, ${delimiter}${orderOf(call)})${renderClauses(call)}`;
  return call.dialect === 'snowflake' ? `coalesce(${joined}, '')` : joined;
}

/** NULLs are left out. */
function collect(call: FunctionCall): string | undefined {
  if (call.dialect === 'redshift') return undefined;
  const value = argumentAt(call, 0);
  const distinct = call.name === 'ARRAY_UNIQUE_AGG' ? 'DISTINCT ' : distinctOf(call);
  const list = `list(${distinct}${value}${orderOf(call)})${renderClauses(call)}`;
  return `coalesce(to_json(list_filter(${list}, lambda _e: _e IS NOT NULL)), CAST('[]' AS JSON))`;
}

function collectObject(call: FunctionCall): string {
  const [key = '', value = ''] = call.args;
  const member = `${writeJson(asText(key))} || ':' || ${writeJson(asJson(value))}`;
  // A member begins with its key. NULLs are left out.
  const members = `array_to_string(list_sort(list(${member})${renderClauses(call)}), ',')`;
  return `CAST('{' || coalesce(${members}, '') || '}' AS JSON)`;
}

/**
 * A number with more digits after the point, because DuckDB gives the value between two DECIMALs their scale: the
 * mean of 1.00 and 1.01 would be 1.00. A number of 38 digits of Redshift keeps its scale.
 */
function widen(value: string, digits: number, { dialect }: FunctionCall): string {
  const type = `typeof(${value})`;
  const scale = `TRY_CAST(regexp_extract(${type}, ',(\\d+)', 1) AS INT) + ${digits}`;
  const decimal = `'DECIMAL(38,' || least(37, ${scale}) || ')'`;
  const widest = dialect === 'redshift' ? ` WHEN ${type} LIKE 'DECIMAL(38%' THEN ${type}` : '';
  const name = `CASE${widest} WHEN ${type} LIKE 'DECIMAL%' THEN ${decimal} WHEN ${type} IN (${wholeTypes}) THEN 'DECIMAL(38,${digits})' ELSE ${type} END`;
  return `cast_to_type(${value}, from_json('null', '"' || ${name} || '"'))`;
}

const wholeTypes = "'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT'";

/** A value between the rows, or of a row, at a share of the ordered rows. */
const percentile = (name: string): FunctionEntry =>
  defineOverRows(1, 2, (call) => {
    const { value, descends } =
      call.orderBy === undefined
        ? { value: asNumber(argumentAt(call, 0)), descends: false }
        : readOrder(call.orderBy);
    const share = argumentAt(call, call.orderBy === undefined ? 1 : 0);
    const digits = call.dialect === 'snowflake' ? 3 : 1;
    const input = name === 'quantile_cont' ? widen(value, digits, call) : value;
    return `${name}(${input}, ${descends ? `1 - ${share}` : share})${renderClauses(call)}`;
  });

/** One expression of ORDER BY, and its direction. NULLs do not count here. */
function readOrder(orderBy: string): { value: string; descends: boolean } {
  let value = orderBy.trim().replace(/^order\s+by\s/i, '');
  const cut = (ending: RegExp) => {
    // Only the end is searched, because the text may be long.
    const found = ending.exec(value.slice(-40));
    if (found !== null) value = value.slice(0, value.length - found[0].length).trimEnd();
    return found?.[1];
  };
  cut(/\snulls\s{1,9}(first|last)$/i);
  const direction = cut(/\s(asc|desc)$/i);
  return { value, descends: direction?.toLowerCase() === 'desc' };
}

/** Rows in which each argument has a value. */
function countRows(call: FunctionCall): string | undefined {
  const [only = ''] = call.args;
  if (call.args.length < 2 && mayBeJson(only) && only !== '*')
    return call.distinct ? undefined : `count(CASE WHEN json_type(to_json(${only})) <> 'NULL' THEN 1 END)`;
  if (call.args.length < 2) {
    if (call.dialect === 'snowflake' && /\.\*$/.test(only))
      refuseCall(
        call.name,
        `${call.source[0]} counts rows without NULL in Snowflake: write COUNT(*), or the columns`,
      );
    return undefined;
  }
  const present = call.args.map((each) => `${group(each)} IS NOT NULL`).join(' AND ');
  const row = call.distinct ? `(${call.args.join(', ')})` : '1';
  return `count(${distinctOf(call)}CASE WHEN ${present} THEN ${row} END)`;
}

const countDistinct = define(1, many, (call) => {
  const single = call.args.length === 1 ? argumentAt(call, 0) : undefined;
  return single === undefined ? countRows({ ...call, distinct: true }) : `count(DISTINCT ${single})`;
});

const wholePartition = 'ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING';

/** Without a frame, these look at the whole partition. */
const valueOfWindow = (name: string): FunctionEntry =>
  defineOverRows(1, 2, (call) => {
    const nulls = call.ignoreNulls ? ' IGNORE NULLS' : '';
    return `${name}(${call.args.join(', ')}${nulls})${renderClauses(call, { frame: wholePartition })}`;
  });

const neighbour = (name: string): FunctionEntry =>
  define(1, 3, ({ args, ignoreNulls }) =>
    ignoreNulls ? `${name}(${args.join(', ')} IGNORE NULLS)` : undefined,
  );

function countTrueEvents(call: FunctionCall): string {
  if (call.over === undefined) refuseCall(call.name, 'it needs OVER (… ORDER BY …)');
  const frame = 'ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW';
  return `count(CASE WHEN ${argumentAt(call, 0)} THEN 1 END)${renderClauses(call, { frame })}`;
}

const booleans = (name: string): FunctionEntry =>
  define(1, 1, (call) => `${name}(CAST(${argumentAt(call, 0)} AS BOOLEAN))`);
const bits = (name: string): FunctionEntry =>
  define(1, 1, (call) => `${name}(${distinctOf(call)}CAST(${argumentAt(call, 0)} AS BIGINT))`);
const extremeBy = (name: string): FunctionEntry =>
  defineOverRows(2, 3, (call) => {
    const picked = `${name}(${call.args.join(', ')})${renderClauses(call)}`;
    return call.args.length === 3 ? `to_json(${picked})` : picked;
  });

/** ROW_NUMBER() OVER (ORDER BY SEQ4()) numbers the rows as they come. */
const numbering = defineOverRows(0, 1, (call) =>
  call.over?.includes(rowSequence) === true
    ? `${call.name.toLowerCase()}(${call.args.join(', ')})${renderClauses(call)}`
    : undefined,
);

const listAgg = defineOverRows(1, 2, joinTexts);
const collectArray = defineOverRows(1, 1, collect);

export const aggregates: FunctionTable = {
  SUM: ofNumbers('sum'),
  AVG: defineOverRows(1, 1, averageByType),
  MEDIAN: defineOverRows(1, 1, (call) => {
    const value = widen(asNumber(argumentAt(call, 0)), 1, call);
    return `median(${distinctOf(call)}${value})${renderClauses(call)}`;
  }),
  STDDEV: ofNumbers('stddev_samp'),
  STDDEV_SAMP: ofNumbers('stddev_samp'),
  STDDEV_POP: ofNumbers('stddev_pop'),
  VARIANCE: variance('var_samp'),
  VAR_SAMP: variance('var_samp'),
  VARIANCE_SAMP: variance('var_samp'),
  VARIANCE_POP: variance('var_pop'),
  VAR_POP: variance('var_pop'),
  SKEW: define(1, 1, (call) => `skewness(${asNumber(argumentAt(call, 0))})`),
  COUNT: define(0, many, countRows),
  COUNT_IF: define(1, 1, (call) => `count_if(${asBoolean(argumentAt(call, 0))})`),
  APPROX_COUNT_DISTINCT: countDistinct,
  APPROXIMATE_COUNT_DISTINCT: countDistinct,
  HLL: countDistinct,
  LISTAGG: listAgg,
  ARRAY_AGG: collectArray,
  ARRAYAGG: collectArray,
  ARRAY_UNIQUE_AGG: collectArray,
  OBJECT_AGG: defineOverRows(2, 2, collectObject),
  PERCENTILE_CONT: percentile('quantile_cont'),
  PERCENTILE_DISC: percentile('quantile_disc'),
  APPROX_PERCENTILE: percentile('quantile_cont'),
  APPROXIMATE_PERCENTILE_DISC: percentile('quantile_disc'),
  BOOLAND_AGG: booleans('bool_and'),
  BOOLOR_AGG: booleans('bool_or'),
  BOOLXOR_AGG: defineOverRows(
    1,
    1,
    (call) =>
      `(count(CASE WHEN CAST(${argumentAt(call, 0)} AS BOOLEAN) THEN 1 END)${renderClauses(call)} = 1)`,
  ),
  BITAND_AGG: bits('bit_and'),
  BITOR_AGG: bits('bit_or'),
  BITXOR_AGG: bits('bit_xor'),
  MIN_BY: extremeBy('min_by'),
  MAX_BY: extremeBy('max_by'),
  HASH_AGG: defineOverRows(1, many, (call) => {
    const hash = renderSignedHash(`hash(${renderAllColumns(call.args)})`);
    return `coalesce(bit_xor(${distinctOf(call)}${hash})${renderClauses(call)}, 0)`;
  }),
  ROW_NUMBER: numbering,
  RANK: numbering,
  DENSE_RANK: numbering,
  NTILE: numbering,
  RATIO_TO_REPORT: defineOverRows(1, 1, (call) => {
    const value = asNumber(argumentAt(call, 0));
    const share = `CAST(${value} AS DOUBLE) / nullif(sum(${value})${renderClauses(call)}, 0)`;
    return call.dialect === 'redshift' ? `(${share})` : castToQuotient(share, value);
  }),
  FIRST_VALUE: valueOfWindow('first_value'),
  LAST_VALUE: valueOfWindow('last_value'),
  NTH_VALUE: valueOfWindow('nth_value'),
  LAG: neighbour('lag'),
  LEAD: neighbour('lead'),
  CONDITIONAL_TRUE_EVENT: defineOverRows(1, 1, countTrueEvents),
  CONDITIONAL_CHANGE_EVENT: refuse(
    'it is not supported: compare with LAG(…) in a subquery, and count by CONDITIONAL_TRUE_EVENT',
  ),
};
