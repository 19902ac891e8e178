/**
 * Builds expressions of DuckDB around arguments whose types are not known.
 *
 * DuckDB replaces `typeof(x)` by a constant and drops the branches of a CASE that cannot be reached, so
 * choosing by type costs nothing when the query runs. `replace_type(x, NULL::A, NULL::B)` is a cast to B if x is
 * an A, and x itself otherwise; `cast_to_type(x, y)` is a cast to the type of y.
 */

const simple =
  /^(?:(?:[A-Za-z_]\w*|"(?:[^"]|"")+")(?:\.(?:[A-Za-z_]\w*|"(?:[^"]|"")+"))*|-?\d+(?:\.\d+)?|'(?:[^']|'')*')$/;
const keyword = /^(?:current_\w+|sysdate)$/i;

/** A column, a number or a text. */
export function isSimple(sql: string): boolean {
  return simple.test(sql) && !keyword.test(sql);
}

/** Characters of an expression that is read closely. A longer one stands once. */
const cheapLimit = 120;
const term =
  /^(?:(?:[A-Za-z_]\w*|"(?:[^"]|"")+")(?:\.(?:[A-Za-z_]\w*|"(?:[^"]|"")+"))*|\d+(?:\.\d+)?)(?: ?[-+*] ?|$)/;

/** May stand several times in an expression: DuckDB computes equal parts once. */
function isCheap(sql: string): boolean {
  if (isSimple(sql) || /^count\(\*\)$/i.test(sql)) return true;
  if (sql.length > cheapLimit) return false;
  const inner = readWrapped(sql);
  if (inner !== undefined) return isCheap(inner);
  return isSum(sql) && !/\bcurrent_\w/i.test(sql);
}

/** The value that is cast, or given to a function that costs little. */
function readWrapped(sql: string): string | undefined {
  if (/^CAST\(/i.test(sql)) {
    const at = sql.toUpperCase().lastIndexOf(' AS ');
    if (/^ AS [A-Z][A-Z ]*(?:\(\d+, \d+\))?\)$/i.test(sql.slice(Math.max(at, 0))))
      return sql.slice('CAST('.length, at);
  }
  if (/^replace_type\(/i.test(sql)) {
    const at = sql.search(/, NULL::[A-Z]+, NULL::[A-Z]+\)$/i);
    if (at >= 0) return sql.slice('replace_type('.length, at);
  }
  const called = /^(?:upper|lower|trim|length|abs|count|sum|min|max|avg)\(/i.exec(sql)?.[0];
  if (called !== undefined && sql.endsWith(')')) return sql.slice(called.length, -1);
  const cast = sql.search(/::[A-Z]+$/i);
  return cast < 0 ? undefined : sql.slice(0, cast);
}

/** Up to four names or numbers, perhaps in parentheses. */
function isSum(sql: string): boolean {
  if (sql.startsWith('(') !== sql.endsWith(')')) return false;
  let rest = sql.startsWith('(') ? sql.slice(1, -1) : sql;
  for (let terms = 0; terms < 4; terms += 1) {
    const found = term.exec(rest)?.[0];
    if (found === undefined) return false;
    rest = rest.slice(found.length);
    if (rest === '') return /[\w"]$/.test(sql.endsWith(')') ? sql.slice(0, -1) : sql);
  }
  return false;
}

export function isLiteral(sql: string): boolean {
  return /^(?:-?\d+(?:\.\d+)?|'(?:[^']|'')*'|NULL|TRUE|FALSE)$/i.test(sql.trim());
}

/**
 * An expression that uses each value several times and evaluates it once. Values that are not simple are bound
 * as the parameter of a lambda; inside, they are plain names.
 */
export function bindOnce(values: readonly string[], build: (...names: string[]) => string): string {
  const bound = values.filter((value) => !isCheap(value));
  const inline = (value: string) =>
    isSimple(value) || readCallName(value) !== undefined ? value : `(${value})`;
  const parameter = pickName(values);
  let index = 0;
  const placed = () => (bound.length === 1 ? parameter : `${parameter}.v${++index}`);
  const names = values.map((value) => (isCheap(value) ? inline(value) : placed()));
  const body = build(...names);
  if (bound.length === 0) return body;
  // A lambda cannot have a subquery, so the values stand several times.
  if (/\(\s*(?:select|with|from)\b/i.test(body)) return build(...values.map((value) => group(value)));
  const fields = bound.map((value, at) => `v${at + 1}: ${value}`).join(', ');
  const argument = bound.length === 1 ? bound[0] : `{${fields}}`;
  return `list_transform([${argument}], lambda ${parameter}: ${body})[1]`;
}

/** A name that no value uses, so that lambdas can be nested. */
export function pickName(values: readonly string[]): string {
  const taken = values.flatMap((value) =>
    [...value.matchAll(/_x(\d{1,9})/g)].map(([, number]) => Number(number)),
  );
  return `_x${taken.reduce((most, number) => Math.max(most, number), 0) + 1}`;
}

/** Whether the whole expression is one call of a function: `f(…)`. */
export function readCallName(sql: string): string | undefined {
  const open = /^([A-Za-z_]\w*)\(/.exec(sql);
  if (open === null) return undefined;
  return findClosing(sql, open[0].length - 1) === sql.length - 1 ? open[1]?.toLowerCase() : undefined;
}

/** The index of the parenthesis that closes the one at `open`, past texts and quoted names. */
export function findClosing(sql: string, open: number, opening = '('): number {
  const closing = opening === '(' ? ')' : ']';
  let depth = 0;
  for (let index = open; index < sql.length; index += 1) {
    const character = sql[index] as string;
    if (character === "'" || character === '"') {
      const end = sql.indexOf(character, index + 1);
      if (end < 0) return -1;
      index = end;
    } else if (character === opening) depth += 1;
    else if (character === closing) {
      depth -= 1;
      if (depth === 0) return index;
    }
  }
  return -1;
}

function nameType(type: string): string {
  const upper = type.toUpperCase();
  return /^(?:TEXT|STRING|BPCHAR|CHAR|NVARCHAR)$/.test(upper) ? 'VARCHAR' : upper;
}

/** Whether the operator stands outside of parentheses and texts. */
function hasOperator(sql: string, operator: RegExp): boolean {
  if (!operator.test(sql)) return false;
  let outside = '';
  for (let index = 0; index < sql.length; index += 1) {
    const character = sql[index] as string;
    let end = index;
    if (character === '(' || character === '[') end = findClosing(sql, index, character);
    else if (character === "'" || character === '"') end = sql.indexOf(character, index + 1);
    if (end < 0) return false;
    if (end > index) index = end;
    else outside += character;
  }
  return operator.test(outside);
}

/** The type of an expression that shows it: a cast, or a function with one type. */
export function readKnownType(sql: string): string | undefined {
  const text = sql.trim();
  if (/^'(?:[^']|'')*'$/.test(text)) return 'VARCHAR';
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return 'NUMBER';
  if (/^current_date$/i.test(text)) return 'DATE';
  if (/^current_timestamp$/i.test(text)) return 'TIMESTAMP WITH TIME ZONE';
  const cast = /^(.*)::([A-Z]+)(?:\([\d, ]*\))?$/is.exec(text);
  if (cast?.[1] !== undefined && isSimple(cast[1])) return nameType(cast[2] ?? '');
  if (
    text.startsWith('(') &&
    findClosing(text, 0) === text.length - 1 &&
    hasOperator(text.slice(1, -1), /\|\|/)
  ) {
    return 'VARCHAR';
  }
  if (!/^CASE\b/i.test(text) && hasOperator(text, /[*/%]| [-+] /) && !hasOperator(text, /\|\||[<>=]/)) {
    return 'ARITHMETIC';
  }
  if (isChoiceOfTexts(text)) return 'VARCHAR';
  const called = readCallName(text);
  if (called === undefined) return undefined;
  if (called === 'cast' || called === 'try_cast') {
    const at = [...text.matchAll(/\bAS\b/gi)].at(-1)?.index ?? text.length;
    const type = /^AS\s+([A-Z][A-Z ]*)(?:\([\d, ]*\))?\)$/i.exec(text.slice(at))?.[1];
    return type === undefined ? undefined : nameType(type.trimEnd());
  }
  return typesOfFunctions[called];
}

/** Whether it has the form that `asText` gives. */
function isChoiceOfTexts(sql: string): boolean {
  const end = sql.endsWith(')[1]') ? sql.slice(0, -4) : sql;
  if (!end.endsWith(' AS VARCHAR) END')) return false;
  const choice = /CASE (?:WHEN )?typeof\(/.exec(sql);
  if (choice === null || (choice.index > 0 && !sql.startsWith('list_transform('))) return false;
  return sql.includes(' ELSE CAST(', choice.index + choice[0].length);
}

const textFunctions =
  'upper lower trim ltrim rtrim replace regexp_replace substr substring left right lpad rpad strftime concat concat_ws repeat reverse split_part array_to_string md5 sha1 sha256 translate chr string_agg hex to_base64 json_extract_string json_type printf decode';
const numberFunctions =
  'sum avg count count_if round floor ceil trunc abs sign sqrt pow mod length len strpos date_diff date_part epoch epoch_ms epoch_us epoch_ns year month day hour minute second median quantile_cont stddev_samp var_samp random';
const typesOfFunctions: Readonly<Record<string, string>> = {
  ...Object.fromEntries(numberFunctions.split(' ').map((each) => [each, 'ARITHMETIC'])),
  ...Object.fromEntries(textFunctions.split(' ').map((each) => [each, 'VARCHAR'])),
  ...Object.fromEntries(
    ['json_object', 'json_array', 'to_json', 'json_extract', 'json'].map((each) => [each, 'JSON']),
  ),
  ...Object.fromEntries(['unhex', 'from_base64', 'encode'].map((each) => [each, 'BLOB'])),
  now: 'TIMESTAMP WITH TIME ZONE',
  strptime: 'TIMESTAMP',
  last_day: 'DATE',
  make_date: 'DATE',
};

/** Functions that give one of their arguments. */
const passing = new Set(
  'coalesce nullif max min any_value first last first_value last_value nth_value lag lead greatest least list_transform'.split(
    ' ',
  ),
);

/** Whether the expression may be a JSON value: it is a path, or has the name that FLATTEN gives to values. */
export function mayBeJson(sql: string): boolean {
  if (isLiteral(sql)) return false;
  const known = readKnownType(sql);
  if (known !== undefined) return known === 'JSON';
  const called = readCallName(sql);
  if (called !== undefined && !passing.has(called)) return false;
  return /->(?!>)|json|(?:^|\.)"?(?:value|this)"?$/i.test(sql);
}

/** The expression as a text, as Snowflake casts to VARCHAR: a JSON text loses its quotes. */
export function asText(sql: string): string {
  if (/^NULL$/i.test(sql.trim())) return 'CAST(NULL AS VARCHAR)';
  if (readKnownType(sql) === 'VARCHAR') return sql;
  if (!mayBeJson(sql)) return `CAST(${sql} AS VARCHAR)`;
  return bindOnce([sql], (name) => {
    const text = `json_extract_string(to_json(${name}), '$')`;
    return `CASE WHEN typeof(${name}) = 'JSON' THEN ${text} ELSE CAST(${name} AS VARCHAR) END`;
  });
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

/** If one of the values is written as a number, the others are numbers, as in Snowflake. JSON stays JSON. */
export function alignNumbers(values: readonly string[]): readonly string[] {
  if (!values.some((value) => /^-?\d+(?:\.\d+)?$/.test(value.trim()))) return values;
  return values.map((value) => (isLiteral(value) || mayBeJson(value) ? value : asNumber(value)));
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
