/** REGEXP_*. DuckDB's patterns are RE2's, which read the patterns of Snowflake and Redshift. */
import { define, type FunctionCall, type FunctionTable, refuseCall } from './call.ts';
import { asText, bindOnce, pickName } from './expressions.ts';
import { quoteText, readInteger, readText } from './literals.ts';

interface Parameters {
  /** RE2's flags at the start of the pattern: (?i) */
  readonly flags: string;
  readonly extractsGroup: boolean;
  /** Redshift's 'p': the replacement may have $1. */
  readonly perl: boolean;
}

/** @throws SqlError for an unknown letter */
function readParameters(call: FunctionCall, index: number): Parameters {
  const sql = call.args[index];
  const text = sql === undefined ? '' : readText(sql);
  if (text === undefined)
    refuseCall(call.name, `the parameters must be a text in quotes, not ${call.source[index]}`);
  const unknown = /[^cimnsexgp\s]/i.exec(text)?.[0];
  if (unknown !== undefined) {
    refuseCall(call.name, `the parameter "${unknown}" is not known: write letters of c, i, m, s and e`);
  }
  const last = text.replaceAll(/[^ci]/g, '').at(-1);
  const flags = `${last === 'i' ? 'i' : ''}${text.includes('m') ? 'm' : ''}${/[sn]/.test(text) ? 's' : ''}`;
  return { flags, extractsGroup: text.includes('e'), perl: text.includes('p') };
}

function renderPattern(pattern: string, { flags }: Parameters): string {
  if (flags === '') return pattern;
  const text = readText(pattern);
  return text === undefined ? `'(?${flags})' || ${pattern}` : quoteText(`(?${flags})${text}`);
}

/** The text from the position on. */
function renderFrom(text: string, position: string | undefined): string {
  const value = asText(text);
  return position === undefined || readInteger(position) === 1 ? value : `substr(${value}, ${position})`;
}

/** The number of an occurrence from 1; undefined for 0 or none. */
function readOccurrence(call: FunctionCall, index: number): number | undefined {
  const sql = call.args[index];
  if (sql === undefined) return undefined;
  const number = readInteger(sql);
  if (number === undefined || number < 0) {
    refuseCall(call.name, `the occurrence must be a whole number from 0, not ${call.source[index]}`);
  }
  return number === 0 ? undefined : number;
}

function replaceMatches(call: FunctionCall): string | undefined {
  const [text = '', pattern = '', replacement = "''", position] = call.args;
  // DuckDB's regexp_replace(text, pattern, replacement, 'g').
  if (position !== undefined && readText(position) !== undefined) return undefined;
  const isRedshift = call.dialect === 'redshift';
  const parameters = readParameters(call, isRedshift ? 4 : 5);
  const occurrence = isRedshift ? undefined : readOccurrence(call, 4);
  const search = renderPattern(pattern, parameters);
  const by = parameters.perl ? renderGroups(replacement) : replacement;
  const replace = (value: string) => {
    if (occurrence === undefined) return `regexp_replace(${value}, ${search}, ${by}, 'g')`;
    if (occurrence === 1) return `regexp_replace(${value}, ${search}, ${by})`;
    return replaceOccurrence([value, search, by], occurrence);
  };
  if (position === undefined || readInteger(position) === 1) return replace(asText(text));
  return bindOnce([asText(text), position], (value, from) => {
    return `(left(${value}, CAST(${from} - 1 AS BIGINT)) || ${replace(`substr(${value}, ${from})`)})`;
  });
}

/** The texts between the matches and the matches, joined again with one of them replaced. */
function replaceOccurrence(values: readonly string[], occurrence: number): string {
  const index = pickName([...values, '_x1']);
  return bindOnce(values, (text, pattern, replacement) => {
    const matches = `regexp_extract_all(${text}, ${pattern})`;
    const replaced = `regexp_replace(${matches}[${index}], ${pattern}, ${replacement})`;
    const match = `CASE WHEN ${index} = ${occurrence} THEN ${replaced} ELSE coalesce(${matches}[${index}], '') END`;
    const between = `regexp_split_to_array(${text}, ${pattern})`;
    return `array_to_string(list_transform(${between}, lambda ${index}p, ${index}: ${index}p || ${match}), '')`;
  });
}

function renderGroups(replacement: string): string {
  const text = readText(replacement);
  return text === undefined ? replacement : quoteText(text.replaceAll(/\$(\d)/g, '\\$1'));
}

/** The matches of the pattern as a list. */
function renderMatches(call: FunctionCall, parametersAt: number, groupAt: number): string {
  const [text = '', pattern = '', position] = call.args;
  const parameters = readParameters(call, parametersAt);
  const input = call.args[groupAt];
  const groupNumber = input === undefined ? (parameters.extractsGroup ? 1 : 0) : readInteger(input);
  if (groupNumber === undefined) {
    refuseCall(call.name, `the number of the group must be a whole number, not ${call.source[groupAt]}`);
  }
  // Without "e" and with a group, the group still counts.
  const group = groupNumber === 0 ? '' : `, ${groupNumber}`;
  return `regexp_extract_all(${renderFrom(text, position)}, ${renderPattern(pattern, parameters)}${group})`;
}

function takeMatch(call: FunctionCall): string {
  const matches = renderMatches(call, 4, 5);
  const occurrence = readOccurrence(call, 3) ?? 1;
  const match = `${matches}[${occurrence}]`;
  return call.dialect === 'redshift'
    ? `CASE WHEN ${asText(call.args[0] ?? '')} IS NOT NULL THEN coalesce(${match}, '') END`
    : match;
}

function countMatches(call: FunctionCall): string {
  const [text = '', pattern = '', position] = call.args;
  if (readText(pattern) === '') return '0';
  const search = renderPattern(pattern, readParameters(call, 3));
  return `len(regexp_extract_all(${renderFrom(text, position)}, ${search}))`;
}

/** Where a match begins, or what follows it. 0 if there is none. */
function findMatch(call: FunctionCall): string {
  const [text = '', pattern = '', position = '1', , option = '0'] = call.args;
  const occurrence = readOccurrence(call, 3) ?? 1;
  const parameters = readParameters(call, 5);
  if (parameters.extractsGroup || call.args[6] !== undefined)
    refuseCall(
      call.name,
      'the position of a group is not supported: use POSITION of what REGEXP_SUBSTR gives',
    );
  const search = renderPattern(pattern, parameters);
  const after = readInteger(option);
  if (after !== 0 && after !== 1) refuseCall(call.name, `the option must be 0 or 1, not ${call.source[4]}`);
  return bindOnce([asText(text), search, position], (whole = '', expected = '', from = '') => {
    const bound = renderFrom(whole, from);
    const matches = `regexp_extract_all(${bound}, ${expected})`;
    const length = (list: string, count: number) => `length(array_to_string(${list}[1:${count}], ''))`;
    const between = length(`regexp_split_to_array(${bound}, ${expected})`, occurrence);
    const before = `${between} + ${length(matches, occurrence - 1 + after)} + ${from}`;
    return `CASE WHEN len(${matches}) >= ${occurrence} THEN ${before} WHEN ${whole} IS NOT NULL THEN 0 END`;
  });
}

/** The whole text must match. */
function matchWhole(call: FunctionCall): string {
  const [text = '', pattern = ''] = call.args;
  const search = renderPattern(pattern, readParameters(call, 2));
  return `regexp_full_match(${asText(text)}, ${search})`;
}

const like = define(2, 3, matchWhole);

export const regularExpressions: FunctionTable = {
  REGEXP_REPLACE: define(2, 6, replaceMatches),
  REGEXP_SUBSTR: define(2, 6, takeMatch),
  REGEXP_SUBSTR_ALL: define(2, 6, (call) => {
    const from = readOccurrence(call, 3) ?? 1;
    const matches = renderMatches(call, 4, 5);
    return `to_json(${from === 1 ? matches : `${matches}[${from}:]`})`;
  }),
  REGEXP_COUNT: define(2, 4, countMatches),
  REGEXP_INSTR: define(2, 7, findMatch),
  REGEXP_LIKE: like,
  RLIKE: like,
  REGEXP: like,
};
