/** OBJECT_*: objects of JSON. */
import { argumentAt, define, type FunctionCall, type FunctionTable, many, refuseCall } from './call.ts';
import { asText, bindOnce, mayBeJson } from './expressions.ts';
import { asJson, isListLiteral, renderKeyPath, writeJson } from './json-values.ts';
import { readText } from './literals.ts';

/** Pairs of key and value; Snowflake shows the keys in order. */
function readPairs(call: FunctionCall): [key: string, value: string][] {
  if (call.args.length % 2 !== 0) {
    refuseCall(call.name, `it takes pairs of a key and a value, not ${call.args.length} arguments`);
  }
  const pairs: [string, string][] = [];
  for (let index = 0; index < call.args.length; index += 2) {
    pairs.push([call.args[index] ?? '', call.args[index + 1] ?? '']);
  }
  if (pairs.some(([key]) => readText(key) === undefined)) return pairs;
  return pairs.sort(([left], [right]) => compareTexts(readText(left) ?? '', readText(right) ?? ''));
}

const compareTexts = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);

/** `"key":value`; NULL if the value is NULL. */
function renderMember(key: string, value: string): string {
  const text = readText(key);
  const name =
    text === undefined
      ? `${writeJson(asText(key))} || ':'`
      : `'${JSON.stringify(text).replaceAll("'", "''")}:'`;
  return `${name} || ${writeJson(asJson(value))}`;
}

/** concat_ws leaves NULLs out. */
function renderObject(members: readonly string[]): string {
  if (members.length === 0) return "CAST('{}' AS JSON)";
  return `CAST('{' || concat_ws(',', ${members.join(', ')}) || '}' AS JSON)`;
}

/** `*`, `t.*` and `* EXCLUDE (a)` */
const allColumns = /^(?:[^\s*]{1,200}\.)?\*/;

/**
 * All columns, by their names in upper case, as names without quotes are in Snowflake. *COLUMNS may stand in calls
 * only, not beside an operator.
 */
function renderWholeRow(columns: string, keeps: (value: string) => string | undefined): string {
  const value = `json_extract(_r, ${renderKeyPath('_k')})`;
  const condition = keeps(value);
  const keys =
    condition === undefined ? 'json_keys(_r)' : `list_filter(json_keys(_r), lambda _k: ${condition})`;
  const members = `list_transform(list_sort(${keys}), lambda _k: ${writeJson('upper(_k)')} || ':' || ${writeJson(value)})`;
  const object = `CAST('{' || array_to_string(${members}, ',') || '}' AS JSON)`;
  return `list_extract(list_transform(list_value(to_json(struct_pack(*COLUMNS(${columns})))), lambda _r: ${object}), 1)`;
}

function constructObject(call: FunctionCall): string {
  const first = call.args[0]?.trim() ?? '';
  if (call.args.length === 1 && allColumns.test(first))
    return renderWholeRow(first, (value) => `json_type(${value}) <> 'NULL'`);
  return renderObject(readPairs(call).map(([key, value]) => renderMember(key, value)));
}

function constructObjectWithNulls(call: FunctionCall): string {
  const first = call.args[0]?.trim() ?? '';
  if (call.args.length === 1 && allColumns.test(first)) return renderWholeRow(first, () => undefined);
  return `json_object(${readPairs(call).flat().join(', ')})`;
}

/** The members whose key fulfils a condition. */
function filterMembers(
  object: string,
  condition: (key: string) => string,
  added: readonly string[] = [],
): string {
  const member = `${writeJson('_k')} || ':' || ${writeJson(`json_extract(${object}, ${renderKeyPath('_k')})`)}`;
  const retained = `list_transform(list_filter(json_keys(${object}), lambda _k: ${condition('_k')}), lambda _k: ${member})`;
  // A member begins with its key, and Snowflake keeps keys sorted.
  const all =
    added.length === 0
      ? retained
      : `list_sort(list_concat(${retained}, list_filter([${added.join(', ')}], lambda _m: _m IS NOT NULL)))`;
  return `CASE WHEN ${object} IS NOT NULL THEN CAST('{' || array_to_string(${all}, ',') || '}' AS JSON) END`;
}

/** @throws at the run if the key is there and `update` is not true, as in Snowflake. */
function insertMember({ args: [object = '', key = '', value = '', update] }: FunctionCall): string {
  return bindOnce([asJson(object), key, asJson(value)], (bound = '', name = '', json = '') => {
    const inserted = filterMembers(bound, (each) => `${each} <> ${name}`, [
      `${writeJson(asText(name))} || ':' || ${writeJson(json)}`,
    ]);
    if (/^true$/i.test(update ?? '')) return inserted;
    const taken = `list_contains(json_keys(${bound}), ${name})`;
    return `CASE WHEN ${taken} THEN error('OBJECT_INSERT: the object has the key already: pass true as the last argument to replace it') ELSE ${inserted} END`;
  });
}

/** Keys one by one, or all in an array. */
function renderKeys(keys: readonly string[]): string {
  const [only = ''] = keys;
  const isArray = keys.length === 1 && (isListLiteral(only) || mayBeJson(only));
  return isArray ? `json_extract_string(${asJson(only)}, '$[*]')` : `[${keys.join(', ')}]`;
}

const selectMembers = (keeps: boolean) =>
  define(2, many, ({ args: [object = '', ...keys] }) =>
    bindOnce([asJson(object)], (bound = '') =>
      filterMembers(bound, (key) => `${keeps ? '' : 'NOT '}list_contains(${renderKeys(keys)}, ${key})`),
    ),
  );

export const jsonObjects: FunctionTable = {
  OBJECT_CONSTRUCT: define(0, many, constructObject),
  OBJECT_CONSTRUCT_KEEP_NULL: define(0, many, constructObjectWithNulls),
  OBJECT: define(0, many, constructObjectWithNulls),
  OBJECT_KEYS: define(1, 1, (call) => `to_json(list_sort(json_keys(${asJson(argumentAt(call, 0))})))`),
  OBJECT_INSERT: define(3, 4, insertMember),
  OBJECT_DELETE: selectMembers(false),
  OBJECT_PICK: selectMembers(true),
};
