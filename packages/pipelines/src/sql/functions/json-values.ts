/**
 * Semi-structured values. A VARIANT, an OBJECT and an ARRAY are JSON of DuckDB. Arrays that are built here are
 * JSON, not lists; a list of DuckDB is read as well.
 */
import {
  argumentAt,
  define,
  type FunctionCall,
  type FunctionEntry,
  type FunctionTable,
  many,
  refuseCall,
} from './call.ts';
import { asBigint, asText, bindOnce, findClosing, readKnownType } from './expressions.ts';
import { isStrictJson, readJson } from './json-texts.ts';
import { quoteText, readInteger, readText, requireInteger } from './literals.ts';

/** A value as the text of its JSON, with the quotes of a text: a cast of a column would lose them. */
export const writeJson = (sql: string) => `CAST(to_json(${sql}) AS VARCHAR)`;

/** Any value as JSON: a text becomes a JSON text. DuckDB would give the elements of a list in brackets one type. */
export function asJson(sql: string): string {
  const text = sql.trim();
  if (isListLiteral(text) && findClosing(text, 0, '[') === text.length - 1)
    return `json_array(${text.slice(1, -1)})`;
  return readKnownType(sql) === 'JSON' ? sql : `to_json(${sql})`;
}

/** The elements of an array as a list of JSON values. */
export function renderElements(array: string): string {
  return `json_extract(${asJson(array)}, '$[*]')`;
}

/** The path of one key of DuckDB: $."key" */
export function renderKeyPath(key: string): string {
  const text = readText(key);
  if (text !== undefined) return quoteText(`$."${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`);
  return `'$."' || replace(${key}, '"', '\\"') || '"'`;
}

function getElement(call: FunctionCall): string {
  const [value = '', key = ''] = call.args;
  const json = asJson(value);
  const index = readInteger(key);
  if (index !== undefined) return index < 0 ? 'CAST(NULL AS JSON)' : `json_extract(${json}, '$[${index}]')`;
  if (readText(key) !== undefined) return `json_extract(${json}, ${renderKeyPath(key)})`;
  return bindOnce([json, key], (bound, at) => {
    const byKey = `json_extract(${bound}, '$."' || replace(CAST(${at} AS VARCHAR), '"', '\\"') || '"')`;
    const byIndex = `json_extract(${bound}, '$[' || CAST(${at} AS VARCHAR) || ']')`;
    return `CASE WHEN typeof(${at}) IN ('VARCHAR', 'JSON') THEN ${byKey} ELSE ${byIndex} END`;
  });
}

/** A path of Snowflake, `a.b[0]["x y"]`, as one of DuckDB. */
export function translatePath(call: FunctionCall, path: string): string {
  let result = '$';
  let rest = path.trim();
  while (rest !== '') {
    const part =
      /^\.?([A-Za-z_$][\w$]*)/.exec(rest) ??
      /^\.?"((?:[^"]|"")*)"/.exec(rest) ??
      /^\[\s*(?:(\d+)|'([^']*)'|"([^"]*)")\s*\]/.exec(rest);
    if (part === null) {
      refuseCall(call.name, `"${path}" is not a path: write names and indices such as a.b[0]`);
    }
    const [all, first, single, double] = part;
    const key = all.startsWith('[') ? (single ?? double) : first;
    result +=
      key === undefined
        ? `[${first}]`
        : `."${key.replaceAll('""', '"').replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
    rest = rest.slice(all.length);
  }
  return quoteText(result);
}

function getPath(call: FunctionCall): string {
  const [value = '', path = ''] = call.args;
  const text = readText(path);
  const rendered = text === undefined ? `'$.' || ${path}` : translatePath(call, text);
  return `json_extract(${asJson(value)}, ${rendered})`;
}

/** Snowflake takes one path; Redshift takes keys, and gives '' for what is not there. */
function extractPathText(call: FunctionCall): string {
  const [value = '', ...keys] = call.args;
  const json = readJson(value, call.dialect, false);
  // Snowflake's takes one path; several keys are Redshift's.
  if (call.dialect === 'snowflake' && keys.length === 1) {
    const text = readText(keys[0]);
    const path = text === undefined ? `'$.' || ${keys[0]}` : translatePath(call, text);
    return `json_extract_string(${json}, ${path})`;
  }
  const safe = /^true$/i.test(keys.at(-1) ?? '');
  if (/^(?:true|false)$/i.test(keys.at(-1) ?? '')) keys.pop();
  const texts = keys.map(
    (key) => readText(key) ?? refuseCall(call.name, `the key must be a text in quotes, not ${key}`),
  );
  const path = quoteText(`$${texts.map((key) => `."${key.replaceAll('"', '\\"')}"`).join('')}`);
  const document = safe ? readJson(value, call.dialect, true) : json;
  return bindOnce(
    [document],
    (bound) => `CASE WHEN ${bound} IS NOT NULL THEN coalesce(json_extract_string(${bound}, ${path}), '') END`,
  );
}

/** With TRUE of Redshift's null_if_invalid, what is not JSON is NULL. */
const parseUnless = (safe: string, text: string, { dialect }: FunctionCall) =>
  readJson(text, dialect, /^true$/i.test(safe));

const kindOf = (value: string) => `json_type(${asJson(value)})`;
const isKind = (...kinds: readonly string[]): FunctionEntry =>
  define(1, 1, (call) => {
    const list = kinds.map((kind) => `'${kind}'`).join(', ');
    return `(${kindOf(argumentAt(call, 0))} ${kinds.length === 1 ? `= ${list}` : `IN (${list})`})`;
  });

/** NULL if the value is of another kind. */
const asKind = (
  kinds: readonly string[],
  cast: (value: string, call: FunctionCall) => string,
): FunctionEntry =>
  define(1, 3, (call) =>
    bindOnce([argumentAt(call, 0)], (value = '') => {
      const list = kinds.map((kind) => `'${kind}'`).join(', ');
      return `CASE WHEN ${kindOf(value)} IN (${list}) THEN ${cast(value, call)} END`;
    }),
  );

const unquoted = (value: string) => `json_extract_string(${asJson(value)}, '$')`;
const integers = ['UBIGINT', 'BIGINT', 'HUGEINT'];
const numberKinds = [...integers, 'DOUBLE'];
const asInteger = asKind(numberKinds, (value) => `CAST(${unquoted(value)} AS BIGINT)`);
const asDouble = asKind(numberKinds, (value) => `CAST(${unquoted(value)} AS DOUBLE)`);
const asTextKind = asKind(['VARCHAR'], unquoted);
const asDecimal = asKind(numberKinds, (value, call) => {
  const precision = call.args.length > 1 ? requireInteger(call, 1, 'precision') : 38;
  const scale = call.args.length > 2 ? requireInteger(call, 2, 'scale') : 0;
  return `CAST(${unquoted(value)} AS DECIMAL(${precision}, ${scale}))`;
});
const asMomentKind = (type: string) =>
  asKind(['VARCHAR'], (value) => `TRY_CAST(${unquoted(value)} AS ${type})`);

function nameKind(call: FunctionCall): string {
  return bindOnce([argumentAt(call, 0)], (value = '') => {
    const name = `CASE json_type(to_json(${value})) WHEN 'UBIGINT' THEN 'INTEGER' WHEN 'BIGINT' THEN 'INTEGER' WHEN 'HUGEINT' THEN 'INTEGER' WHEN 'DOUBLE' THEN 'DECIMAL' WHEN 'NULL' THEN 'NULL_VALUE' ELSE json_type(to_json(${value})) END`;
    return `CASE WHEN typeof(${value}) = 'JSON' THEN ${name} ELSE typeof(${value}) END`;
  });
}

const isValid = (kind: string) =>
  define(1, 1, (call) =>
    bindOnce([asText(argumentAt(call, 0))], (text = '') => {
      return `(${isStrictJson(text)} AND json_type(TRY_CAST(${text} AS JSON)) = '${kind}')`;
    }),
  );

const parseJson = (safe: boolean) =>
  define(1, 2, (call) => readJson(argumentAt(call, 0), call.dialect, safe));
const toVariant = define(1, 1, (call) => asJson(argumentAt(call, 0)));

export const jsonValues: FunctionTable = {
  PARSE_JSON: parseJson(false),
  TRY_PARSE_JSON: parseJson(true),
  JSON_PARSE: parseJson(false),
  JSON_SERIALIZE: define(1, 1, (call) => `CAST(${asJson(argumentAt(call, 0))} AS VARCHAR)`),
  CHECK_JSON: define(1, 1, (call) =>
    bindOnce(
      [asText(argumentAt(call, 0))],
      (text = '') =>
        `CASE WHEN ${readJson(text, 'snowflake', true)} IS NULL AND trim(${text}) <> '' THEN 'this is not JSON' END`,
    ),
  ),
  IS_VALID_JSON: isValid('OBJECT'),
  IS_VALID_JSON_ARRAY: isValid('ARRAY'),
  CAN_JSON_PARSE: define(1, 1, (call) =>
    bindOnce([asText(argumentAt(call, 0))], (text = '') => isStrictJson(text)),
  ),
  TO_VARIANT: toVariant,
  TO_OBJECT: toVariant,
  GET: define(2, 2, getElement),
  GET_PATH: define(2, 2, getPath),
  GET_IGNORE_CASE: define(2, 2, ({ args: [value = '', key = ''] }) =>
    bindOnce([asJson(value), key], (json, expected) => {
      // Snowflake keeps the keys of an object sorted.
      const keys = `list_sort(json_keys(${json}))`;
      const found = `coalesce(list_filter(${keys}, lambda _k: _k = ${expected})[1], list_filter(${keys}, lambda _k: lower(_k) = lower(${expected}))[1])`;
      return `json_extract(${json}, '$."' || replace(${found}, '"', '\\"') || '"')`;
    }),
  ),
  JSON_EXTRACT_PATH_TEXT: define(2, many, extractPathText),
  JSON_EXTRACT_ARRAY_ELEMENT_TEXT: define(2, 3, (call) => {
    const [value = '', index = '', safe = ''] = call.args;
    return bindOnce([parseUnless(safe, value, call), asBigint(index)], (json, at) => {
      const found = `json_extract_string(${json}, '$[' || greatest(${at}, 0) || ']')`;
      return `CASE WHEN ${json} IS NULL OR ${at} IS NULL THEN NULL WHEN ${at} < 0 THEN '' ELSE coalesce(${found}, '') END`;
    });
  }),
  JSON_ARRAY_LENGTH: define(1, 2, (call) => {
    const [value = '', safe = ''] = call.args;
    if (call.dialect === 'snowflake') return undefined;
    return `CAST(json_array_length(${parseUnless(safe, value, call)}) AS BIGINT)`;
  }),
  TYPEOF: define(1, 1, nameKind),
  JSON_TYPEOF: define(1, 1, (call) => {
    const numbers = numberKinds.map((each) => `WHEN '${each}' THEN 'number'`).join(' ');
    return bindOnce(
      [kindOf(argumentAt(call, 0))],
      (kind) => `CASE ${kind} WHEN 'VARCHAR' THEN 'string' ${numbers} ELSE lower(${kind}) END`,
    );
  }),
  STRIP_NULL_VALUE: define(1, 1, (call) =>
    bindOnce(
      [asJson(argumentAt(call, 0))],
      (value) => `CASE WHEN json_type(${value}) <> 'NULL' THEN ${value} END`,
    ),
  ),
  IS_NULL_VALUE: isKind('NULL'),
  IS_ARRAY: isKind('ARRAY'),
  IS_OBJECT: isKind('OBJECT'),
  IS_VARCHAR: isKind('VARCHAR'),
  IS_CHAR: isKind('VARCHAR'),
  IS_BOOLEAN: isKind('BOOLEAN'),
  IS_INTEGER: isKind(...integers),
  IS_DECIMAL: isKind(...numberKinds),
  IS_DOUBLE: isKind(...numberKinds),
  IS_REAL: isKind(...numberKinds),
  AS_VARCHAR: asTextKind,
  AS_CHAR: asTextKind,
  AS_INTEGER: asInteger,
  AS_DOUBLE: asDouble,
  AS_REAL: asDouble,
  AS_DECIMAL: asDecimal,
  AS_NUMBER: asDecimal,
  AS_BOOLEAN: asKind(['BOOLEAN'], (value) => `CAST(${unquoted(value)} AS BOOLEAN)`),
  AS_ARRAY: asKind(['ARRAY'], asJson),
  AS_OBJECT: asKind(['OBJECT'], asJson),
  AS_DATE: asMomentKind('DATE'),
  AS_TIMESTAMP_NTZ: asMomentKind('TIMESTAMP'),
};

/** Whether a list of DuckDB stands here as it is written: `[1, 2]`. */
export function isListLiteral(sql: string): boolean {
  return sql.trim().startsWith('[');
}
