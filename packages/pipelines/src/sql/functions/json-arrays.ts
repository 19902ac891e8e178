/** ARRAY_* and functions that give arrays. */
import {
  argumentAt,
  define,
  type FunctionCall,
  type FunctionEntry,
  type FunctionTable,
  many,
  refuseCall,
} from './call.ts';
import { asBigint, asText, bindOnce } from './expressions.ts';
import { asJson, isListLiteral, renderElements } from './json-values.ts';
import { readText } from './literals.ts';
import { renderTokens } from './strings.ts';

/** An array in brackets is Snowflake's, too. */
const ofArrays = (least: number, most: number, build: (call: FunctionCall) => string): FunctionEntry =>
  define(least, most, build);
/** With a list first it is DuckDB's: the vendors' take the value first. */
const ofValueFirst = (build: (call: FunctionCall) => string): FunctionEntry =>
  define(2, 2, (call) => (isListLiteral(argumentAt(call, 0)) ? undefined : build(call)));

const elements = (call: FunctionCall, index: number) => renderElements(argumentAt(call, index));
const isJsonNull = (element: string) => `json_type(${element}) = 'NULL'`;

/** Counted from 0, the end excluded; negative numbers count from the end. */
function sliceArray(call: FunctionCall): string {
  return bindOnce([elements(call, 0), argumentAt(call, 1), argumentAt(call, 2)], (list, from, to) => {
    const first = `CASE WHEN ${from} >= 0 THEN ${from} + 1 ELSE ${from} END`;
    const last = `CASE WHEN ${to} >= 0 THEN ${to} ELSE ${to} - 1 END`;
    return `to_json(list_slice(${list}, CAST(${first} AS BIGINT), CAST(${last} AS BIGINT)))`;
  });
}

/** As often as in both arrays, or as often as in the first without the second. */
const compareCounts = (operator: string): FunctionEntry =>
  ofArrays(2, 2, (call) =>
    bindOnce([elements(call, 0), elements(call, 1)], (left, right) => {
      const count = (list: string) => `len(list_filter(${list}, lambda _y: _y = _x))`;
      const retained = `list_filter(${left}, lambda _x, _i: ${count(`${left}[1:_i]`)} ${operator} ${count(right ?? '')})`;
      return `to_json(${retained})`;
    }),
  );

function readFlag(call: FunctionCall, index: number, missing: boolean): boolean {
  const flag = call.args[index];
  if (flag === undefined) return missing;
  if (/^(?:true|false)$/i.test(flag)) return /^true$/i.test(flag);
  return refuseCall(call.name, `argument ${index + 1} must be TRUE or FALSE, not ${call.source[index]}`);
}

/** Numbers by their value, before texts by their letters. NULLs come last, and first in descending order. */
function sortArray(call: FunctionCall): string {
  const ascends = readFlag(call, 1, true);
  const nullsFirst = readFlag(call, 2, !ascends);
  return bindOnce([elements(call, 0)], (list = '') => {
    const nulls = `list_filter(${list}, lambda _e: ${isJsonNull('_e')})`;
    const others = `list_filter(${list}, lambda _e: NOT ${isJsonNull('_e')})`;
    const keyed = `list_transform(${others}, lambda _e: {n: TRY_CAST(json_extract_string(_e, '$') AS DOUBLE), t: json_extract_string(_e, '$'), e: _e})`;
    const sorted = `list_transform(list_sort(${keyed}, '${ascends ? 'ASC' : 'DESC'}'), lambda _e: _e.e)`;
    return `to_json(${nullsFirst ? `${nulls} || ${sorted}` : `${sorted} || ${nulls}`})`;
  });
}

/** The index from 0 of a position that may count from the end. */
const indexOf = (list: string, at: string) => `CASE WHEN ${at} < 0 THEN len(${list}) + ${at} ELSE ${at} END`;

/** An index behind the end is reached by NULLs. */
function insertElement(call: FunctionCall): string {
  const inserted = asJson(argumentAt(call, 2));
  return bindOnce([elements(call, 0), argumentAt(call, 1)], (list = '', at = '') => {
    const index = `CAST(greatest(${indexOf(list, at)}, 0) AS BIGINT)`;
    const padded = `list_resize(${list}, greatest(len(${list}), ${index}), CAST('null' AS JSON))`;
    return `to_json(${padded}[1:${index}] || [${inserted}] || ${padded}[${index} + 1:])`;
  });
}

const removeElement = (call: FunctionCall) =>
  bindOnce(
    [elements(call, 0), argumentAt(call, 1)],
    (list = '', at = '') => `to_json(list_filter(${list}, lambda _e, _i: _i <> ${indexOf(list, at)} + 1))`,
  );

/** The largest or smallest element; NULLs do not count. */
function takeExtreme(call: FunctionCall, end: string): string {
  const present = `to_json(list_filter(${elements(call, 0)}, lambda _e: NOT ${isJsonNull('_e')}))`;
  return `json_extract(${sortArray({ ...call, args: [`CAST(${present} AS JSON)`] })}, '${end}')`;
}

/** One level in Snowflake, whose elements are all arrays; up to eight levels in Redshift. */
function flattenArray(call: FunctionCall): string {
  const isArray = `json_type(_e) = 'ARRAY'`;
  const flatten = (list: string, other: string) =>
    `flatten(list_transform(${list}, lambda _e: CASE WHEN ${isArray} THEN json_extract(_e, '$[*]') ELSE ${other} END))`;
  if (call.dialect === 'snowflake') {
    const refused = `[error('ARRAY_FLATTEN: an element is not an array')]`;
    return bindOnce([elements(call, 0)], (list = '') => {
      const isNull = `len(list_filter(${list}, lambda _e: ${isJsonNull('_e')})) > 0`;
      return `CASE WHEN ${isNull} THEN NULL ELSE to_json(${flatten(list, refused)}) END`;
    });
  }
  let list = elements(call, 0);
  for (let level = 0; level < 8; level += 1) list = flatten(list, '[_e]');
  const refused = `CAST(error('ARRAY_FLATTEN: the array has more than eight levels') AS JSON)`;
  return `to_json(list_transform(${list}, lambda _e: CASE WHEN ${isArray} THEN ${refused} ELSE _e END))`;
}

function splitText(call: FunctionCall): string {
  const [text = '', delimiter = ''] = call.args;
  if (readText(delimiter) === '') return `to_json([${asText(text)}])`;
  if (readText(delimiter) !== undefined) return `to_json(string_split(${asText(text)}, ${delimiter}))`;
  return bindOnce([asText(text), delimiter], (bound, by) => {
    return `to_json(CASE WHEN ${by} = '' THEN [${bound}] ELSE string_split(${bound}, ${by}) END)`;
  });
}

const construct = define(0, many, ({ args }) => {
  const values = args.map((each) => (isListLiteral(each) ? asJson(each) : each));
  return `json_array(${values.join(', ')})`;
});
const size = ofArrays(1, 1, (call) =>
  bindOnce(
    [asJson(argumentAt(call, 0))],
    (array) => `CASE WHEN json_type(${array}) = 'ARRAY' THEN CAST(json_array_length(${array}) AS BIGINT) END`,
  ),
);
const concatenate = ofArrays(2, 2, (call) => `to_json(${elements(call, 0)} || ${elements(call, 1)})`);

export const jsonArrays: FunctionTable = {
  ARRAY_CONSTRUCT: construct,
  ARRAY: construct,
  ARRAY_CONSTRUCT_COMPACT: define(0, many, ({ args }) =>
    args.length === 0
      ? "CAST('[]' AS JSON)"
      : `to_json(list_filter([${args.map((each) => asJson(each)).join(', ')}], lambda _e: _e IS NOT NULL))`,
  ),
  ARRAY_SIZE: size,
  GET_ARRAY_LENGTH: size,
  ARRAY_CONTAINS: ofValueFirst((call) =>
    /^NULL$/i.test(argumentAt(call, 0))
      ? refuseCall(
          call.name,
          'it cannot look for NULL: use ARRAY_SIZE of the array and of ARRAY_COMPACT of it',
        )
      : `list_contains(${elements(call, 1)}, ${asJson(argumentAt(call, 0))})`,
  ),
  ARRAY_POSITION: ofValueFirst(
    (call) => `(nullif(list_position(${elements(call, 1)}, ${asJson(argumentAt(call, 0))}), 0) - 1)`,
  ),
  ARRAY_APPEND: ofArrays(2, 2, (call) => `to_json(${elements(call, 0)} || [${asJson(argumentAt(call, 1))}])`),
  ARRAY_PREPEND: ofArrays(
    2,
    2,
    (call) => `to_json([${asJson(argumentAt(call, 1))}] || ${elements(call, 0)})`,
  ),
  ARRAY_INSERT: ofArrays(3, 3, insertElement),
  ARRAY_REMOVE_AT: ofArrays(2, 2, removeElement),
  ARRAY_CAT: concatenate,
  ARRAY_CONCAT: concatenate,
  ARRAY_COMPACT: ofArrays(
    1,
    1,
    (call) => `to_json(list_filter(${elements(call, 0)}, lambda _e: NOT ${isJsonNull('_e')}))`,
  ),
  ARRAY_DISTINCT: ofArrays(1, 1, (call) =>
    bindOnce(
      [elements(call, 0)],
      (list) => `to_json(list_filter(${list}, lambda _e, _i: list_position(${list}, _e) = _i))`,
    ),
  ),
  ARRAY_INTERSECTION: compareCounts('<='),
  ARRAY_EXCEPT: compareCounts('>'),
  ARRAYS_OVERLAP: ofArrays(2, 2, (call) => `list_has_any(${elements(call, 0)}, ${elements(call, 1)})`),
  ARRAY_SLICE: ofArrays(3, 3, sliceArray),
  SUBARRAY: ofArrays(2, 3, (call) => {
    const length = call.args[2] === undefined ? '' : ` + CAST(${call.args[2]} AS BIGINT)`;
    return bindOnce([elements(call, 0), argumentAt(call, 1)], (list, from) => {
      return `to_json(${list}[${from} + 1:${length === '' ? '' : `${from}${length}`}])`;
    });
  }),
  ARRAY_TO_STRING: ofArrays(2, 2, (call) => {
    const texts = `list_transform(${elements(call, 0)}, lambda _e: coalesce(json_extract_string(_e, '$'), ''))`;
    return `array_to_string(${texts}, ${argumentAt(call, 1)})`;
  }),
  ARRAY_FLATTEN: ofArrays(1, 1, flattenArray),
  ARRAY_REVERSE: ofArrays(1, 1, (call) => `to_json(list_reverse(${elements(call, 0)}))`),
  ARRAY_SORT: ofArrays(1, 3, sortArray),
  ARRAY_REMOVE: ofArrays(2, 2, (call) =>
    bindOnce(
      [asJson(argumentAt(call, 1))],
      (value) => `to_json(list_filter(${elements(call, 0)}, lambda _e: _e <> ${value}))`,
    ),
  ),
  ARRAY_MAX: ofArrays(1, 1, (call) => takeExtreme(call, '$[#-1]')),
  ARRAY_MIN: ofArrays(1, 1, (call) => takeExtreme(call, '$[0]')),
  ARRAY_GENERATE_RANGE: define(2, 3, ({ args }) => `to_json(range(${args.map(asBigint).join(', ')}))`),
  TO_ARRAY: define(1, 1, (call) =>
    bindOnce(
      [asJson(argumentAt(call, 0))],
      (value) =>
        `CASE WHEN json_type(${value}) = 'ARRAY' THEN ${value} WHEN ${value} IS NOT NULL THEN to_json([${value}]) END`,
    ),
  ),
  SPLIT: define(2, 2, splitText),
  STRTOK_TO_ARRAY: define(1, 2, ({ args }) => `to_json(${renderTokens(args)})`),
  SPLIT_TO_ARRAY: define(1, 2, (call) =>
    splitText({ ...call, args: [argumentAt(call, 0), call.args[1] ?? "','"] }),
  ),
};
