/**
 * Builds expressions of DuckDB around arguments whose types are not known.
 *
 * DuckDB replaces `typeof(x)` by a constant and drops the branches of a CASE that cannot be reached, so
 * choosing by type costs nothing when the query runs. `replace_type(x, NULL::A, NULL::B)` is a cast to B if x is
 * an A, and x itself otherwise; `cast_to_type(x, y)` is a cast to the type of y.
 */

const name = String.raw`(?:[A-Za-z_]\w*|"(?:[^"]|"")+")`;
const simple = new RegExp(String.raw`^(?:${name}(?:\.${name})*|-?\d+(?:\.\d+)?|'(?:[^']|'')*')$`);
const keyword = /^(?:current_\w+|sysdate)$/i;

/** A column, a number or a text: may stand several times in an expression. */
export function isSimple(sql: string): boolean {
  return simple.test(sql) && !keyword.test(sql);
}

export function isLiteral(sql: string): boolean {
  return /^(?:-?\d+(?:\.\d+)?|'(?:[^']|'')*'|NULL|TRUE|FALSE)$/i.test(sql.trim());
}

/**
 * An expression that uses each value several times and evaluates it once. Values that are not simple are bound
 * as the parameter of a lambda; inside, they are plain names.
 */
export function bindOnce(values: readonly string[], build: (...names: string[]) => string): string {
  const bound = values.filter((value) => !isSimple(value));
  if (bound.length === 0) return build(...values);
  const parameter = pickName(values);
  if (bound.length === 1) {
    const body = build(...values.map((value) => (isSimple(value) ? value : parameter)));
    return `list_transform([${bound[0]}], lambda ${parameter}: ${body})[1]`;
  }
  const fields = bound.map((value, index) => `v${index + 1}: ${value}`);
  let index = 0;
  const names = values.map((value) => (isSimple(value) ? value : `${parameter}.v${++index}`));
  return `list_transform([{${fields.join(', ')}}], lambda ${parameter}: ${build(...names)})[1]`;
}

/** A name that no value uses, so that lambdas can be nested. */
export function pickName(values: readonly string[]): string {
  let number = 1;
  while (values.some((value) => value.includes(`_x${number}`))) number += 1;
  return `_x${number}`;
}

/** Whether the whole expression is one call of a function: `f(…)`. */
export function readCallName(sql: string): string | undefined {
  const open = /^([A-Za-z_]\w*)\(/.exec(sql);
  if (open === null) return undefined;
  return findClosing(sql, open[0].length - 1) === sql.length - 1 ? open[1]?.toLowerCase() : undefined;
}

/** The index of the parenthesis that closes the one at `open`, past texts and quoted names. */
function findClosing(sql: string, open: number): number {
  let depth = 0;
  for (let index = open; index < sql.length; index += 1) {
    const character = sql[index] as string;
    if (character === "'" || character === '"') {
      const end = sql.indexOf(character, index + 1);
      if (end < 0) return -1;
      index = end;
    } else if (character === '(') depth += 1;
    else if (character === ')') {
      depth -= 1;
      if (depth === 0) return index;
    }
  }
  return -1;
}

/** The type of an expression that shows it: a cast, or a function with one type. */
export function readKnownType(sql: string): string | undefined {
  const text = sql.trim();
  if (/^'(?:[^']|'')*'$/.test(text)) return 'VARCHAR';
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return 'NUMBER';
  if (/^current_date$/i.test(text)) return 'DATE';
  const called = readCallName(text);
  if (called === undefined) return undefined;
  if (called === 'cast' || called === 'try_cast') {
    return /\bAS\s+([A-Z][A-Z ]*?)(?:\([\d, ]*\))?\)$/i.exec(text)?.[1]?.toUpperCase();
  }
  return typesOfFunctions[called];
}

const textFunctions =
  'upper lower trim ltrim rtrim replace regexp_replace substr substring left right lpad rpad strftime concat concat_ws repeat reverse split_part array_to_string json_extract_string md5 translate chr string_agg hex to_base64';
const typesOfFunctions: Readonly<Record<string, string>> = {
  ...Object.fromEntries(textFunctions.split(' ').map((each) => [each, 'VARCHAR'])),
  ...Object.fromEntries(['json_object', 'json_array', 'to_json'].map((each) => [each, 'JSON'])),
  now: 'TIMESTAMP WITH TIME ZONE',
  strptime: 'TIMESTAMP',
  last_day: 'DATE',
  make_date: 'DATE',
};

/** Whether the expression may be a JSON value: it is a path, or has the name that FLATTEN gives to values. */
export function mayBeJson(sql: string): boolean {
  if (isLiteral(sql)) return false;
  const known = readKnownType(sql);
  if (known !== undefined) return known === 'JSON';
  return /->(?!>)|json|(?:^|\.)"?(?:value|this)"?$/i.test(sql);
}

/** The expression as a text, as Snowflake casts to VARCHAR: a JSON text loses its quotes. */
export function asText(sql: string): string {
  if (/^NULL$/i.test(sql.trim())) return 'CAST(NULL AS VARCHAR)';
  if (readKnownType(sql) === 'VARCHAR') return sql;
  if (!mayBeJson(sql)) return `CAST(${sql} AS VARCHAR)`;
  return asTextOfJson(sql);
}

function asTextOfJson(sql: string): string {
  return `CASE WHEN typeof(${sql}) = 'JSON' THEN json_extract_string(to_json(${sql}), '$') ELSE CAST(${sql} AS VARCHAR) END`;
}

/** The expression as a date or time: a text becomes a TIMESTAMP, other types stay. */
export function asMoment(sql: string): string {
  const type = readKnownType(sql);
  if (type === 'VARCHAR') return `CAST(${sql} AS TIMESTAMP)`;
  if (type !== undefined && /^(?:DATE|TIME)/.test(type)) return sql;
  const inner = mayBeJson(sql) ? `replace_type(${sql}, NULL::JSON, NULL::TIMESTAMP)` : sql;
  return `replace_type(${inner}, NULL::VARCHAR, NULL::TIMESTAMP)`;
}

/** The expression as a number: a text or a JSON value becomes a DOUBLE, as in the warehouses. */
export function asNumber(sql: string): string {
  if (readKnownType(sql) !== undefined && !mayBeJson(sql) && readKnownType(sql) !== 'VARCHAR') return sql;
  const inner = mayBeJson(sql) ? `replace_type(${sql}, NULL::JSON, NULL::DOUBLE)` : sql;
  return `replace_type(${inner}, NULL::VARCHAR, NULL::DOUBLE)`;
}

export function asBoolean(sql: string): string {
  return mayBeJson(sql) ? `CAST(${sql} AS BOOLEAN)` : sql;
}

export function asInteger(sql: string): string {
  return /^-?\d+$/.test(sql) ? sql : `CAST(${sql} AS INTEGER)`;
}

export function asBigint(sql: string): string {
  return /^-?\d+$/.test(sql) ? sql : `CAST(${sql} AS BIGINT)`;
}

/** In parentheses unless it is one value or one call. */
export function group(sql: string): string {
  return isSimple(sql) || readCallName(sql) !== undefined ? sql : `(${sql})`;
}
