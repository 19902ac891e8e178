/**
 * Texts of JSON as the vendors read them. DuckDB's parser takes a comma before a bracket and leaves it out, and takes
 * a key twice. Snowflake reads that comma as one more element, takes keys without quotes and strings in single ones,
 * and refuses a key twice; Redshift wants JSON to the letter.
 */
import type { SourceDialect } from './call.ts';
import { asText, bindOnce, readKnownType } from './expressions.ts';
import { readText } from './literals.ts';

const strings = '"(?:[^"\\\\]|\\\\.)*"';
/** Without escapes in a text, which the parser of lineage does not read. */
const blanks = "' ' || chr(9) || chr(13) || chr(10)";
const trim = (text: string) => `nullif(trim(${asText(text)}, ${blanks}), '')`;

/** What DuckDB takes and JSON has not, outside of strings. The second look is taken at few texts. */
const foreign = '(?i),\\s*[\\]}]|\\b(?:nan|inf)';
const isLenient = (text: string) =>
  `(regexp_matches(${text}, '${foreign}') AND regexp_matches(regexp_replace(${text}, '${strings}', '""', 'g'), '${foreign}'))`;

/** The text as JSON to the letter: all in double quotes, and null for what Snowflake calls undefined. */
function repair(text: string): string {
  const replace = (sql: string, [pattern, replacement]: readonly [string, string]) =>
    `regexp_replace(${sql}, '${pattern}', '${replacement}', 'g')`;
  const repaired = [
    ['(?i)\\btrue\\b', 'true'],
    ['(?i)\\bfalse\\b', 'false'],
    ['(?i)\\bnull\\b', 'null'],
    ['([A-Za-z_$][\\w$]*)(\\s*:)', '"\\1"\\2'],
    ['([\\[,]\\s*),', '\\1null,'],
    ['([\\[,]\\s*),', '\\1null,'],
    [',(\\s*\\])', ',null\\1'],
  ] as const;
  const outside = repaired.reduce(replace, '_s');
  const pieces = `regexp_extract_all(${text}, '${strings}|${strings.replaceAll('"', "''")}|[^"'']+|["'']')`;
  const inner = "replace(replace(substr(_s, 2, length(_s) - 2), '\\''', ''''), '\"', '\\\"')";
  const piece = `CASE WHEN _s LIKE '"%' THEN _s WHEN _s LIKE '''%''' AND length(_s) > 1 THEN '"' || ${inner} || '"' ELSE ${outside} END`;
  return `array_to_string(list_transform(${pieces}, lambda _s: ${piece}), '')`;
}

/** A text that is JSON whoever reads it. */
function isPlainJson(text: string): boolean {
  try {
    return countKeys(JSON.parse(text)) === countWrittenKeys(text);
  } catch {
    return false;
  }
}

/** Strings with a colon behind them, of a text that is JSON. */
function countWrittenKeys(text: string): number {
  let keys = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (isInString && character === '\\') index += 1;
    else if (character === '"') isInString = !isInString;
    else if (!isInString && character === ':') keys += 1;
  }
  return keys;
}

function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const values = Object.values(value);
  return values.reduce((sum, each) => sum + countKeys(each), Array.isArray(value) ? 0 : values.length);
}

/**
 * JSON without blanks between its parts. An empty text is NULL.
 *
 * @param safe NULL instead of an error for what the vendor does not read
 */
export function readJson(text: string, dialect: SourceDialect, safe: boolean): string {
  if (readKnownType(text) === 'JSON') return text;
  const literal = readText(text);
  const document = trim(text);
  if (literal !== undefined && isPlainJson(literal)) return `json_extract(${document}, '$')`;
  return bindOnce([document], (bound = '') =>
    dialect === 'snowflake' ? readLeniently(bound, safe) : readStrictly(bound, safe),
  );
}

function readStrictly(text: string, safe: boolean): string {
  const strict = `CASE WHEN ${isLenient(text)} THEN ${safe ? 'NULL' : "error('the JSON has a comma before a bracket, or a number that is none: JSON has neither')"} ELSE ${text} END`;
  return `json_extract(${safe ? `TRY_CAST(${strict} AS JSON)` : strict}, '$')`;
}

/** A key twice is looked for where it does not cost much: in the outermost object. */
function readLeniently(text: string, safe: boolean): string {
  const isStrict = `json_valid(${text}) AND NOT regexp_matches(${text}, '${foreign}')`;
  const readable = bindOnce(
    [repair(text)],
    (bound = '') => `CASE WHEN json_valid(${bound}) THEN ${bound} ELSE ${safe ? 'NULL' : text} END`,
  );
  const json = `json_extract(CASE WHEN ${isStrict} THEN ${text} ELSE ${readable} END, '$')`;
  const repeated = safe ? 'NULL' : "error('PARSE_JSON: the object has a key twice')";
  return bindOnce([json], (bound = '') => {
    const keys = `json_keys(${bound})`;
    return `CASE WHEN len(${keys}) <> len(list_distinct(${keys})) THEN ${repeated} ELSE ${bound} END`;
  });
}

/** Whether the vendor's functions take the text as JSON. */
export const isStrictJson = (text: string) => `(json_valid(${text}) AND NOT ${isLenient(text)})`;
