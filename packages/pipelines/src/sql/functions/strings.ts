/** Parts, positions and forms of texts. */
import {
  argumentAt,
  define,
  type FunctionCall,
  type FunctionEntry,
  type FunctionTable,
  many,
  refuseCall,
  rename,
  type SourceDialect,
} from './call.ts';
import { asInteger, asText, bindOnce, group, isLiteral, mayBeJson, readKnownType } from './expressions.ts';
import { quoteText, readInteger, readText } from './literals.ts';
import { writeDefaultText } from './text-conversions.ts';

/** A JSON argument loses its quotes, and a number is cast; other calls stay as they are. */
const ofTexts = (name: string, least: number, most: number, texts = 1): FunctionEntry =>
  define(least, most, ({ args }) => {
    const converted = args.map((each, index) => (index < texts && needsCast(each) ? asText(each) : each));
    return converted.some((each, index) => each !== args[index])
      ? `${name}(${converted.join(', ')})`
      : undefined;
  });

function needsCast(sql: string): boolean {
  const type = readKnownType(sql);
  return mayBeJson(sql) || (type !== undefined && type !== 'VARCHAR' && type !== 'BLOB');
}

/** A count below 0 gives '' and not DuckDB's "all but the last". */
const takeEnd = (name: string): FunctionEntry =>
  define(2, 2, ({ args: [text = '', count = ''] }) => {
    const number = readInteger(count);
    const length =
      number === undefined
        ? bindOnce([count], (bound) => `CASE WHEN ${bound} < 0 THEN 0 ELSE ${bound} END`)
        : String(Math.max(number, 0));
    return `${name}(${asText(text)}, ${number === undefined ? `CAST(${length} AS BIGINT)` : length})`;
  });

function takePart(call: FunctionCall): string {
  const [text = '', start = '', length] = call.args;
  const value = asText(text);
  const from = readInteger(start);
  const count = length === undefined ? undefined : readInteger(length);
  if (call.dialect === 'redshift') return takePartOfRedshift(value, from, count, call.args);
  if (from !== undefined && from >= 0) {
    const counted = count === undefined ? length : String(Math.max(count, 0));
    const limit =
      counted === undefined ? '' : `, ${count === undefined ? renderNotNegative(counted) : counted}`;
    return `substr(${value}, ${Math.max(from, 1)}${limit})`;
  }
  // Before the first character there is nothing.
  return bindOnce([value, start, ...(length === undefined ? [] : [length])], (bound, at, size) => {
    const limit = size === undefined ? '' : `, ${renderNotNegative(size)}`;
    const taken = `substr(${bound}, CASE WHEN ${at} = 0 THEN 1 ELSE ${at} END${limit})`;
    return `CASE WHEN ${at} < -length(${bound}) THEN '' ELSE ${taken} END`;
  });
}

function renderNotNegative(count: string): string {
  return /^\d+$/.test(count)
    ? count
    : bindOnce([count], (bound) => `CASE WHEN ${bound} < 0 THEN 0 ELSE ${bound} END`);
}

/** Positions before the first character count, as in PostgreSQL. */
function takePartOfRedshift(
  value: string,
  from: number | undefined,
  count: number | undefined,
  [, start = '', length]: readonly string[],
): string {
  if (from !== undefined && from >= 1)
    return `substr(${[value, start, ...(length ? [length] : [])].join(', ')})`;
  if (from !== undefined && length === undefined) return `substr(${value}, 1)`;
  if (from !== undefined && count !== undefined)
    return `substr(${value}, 1, ${Math.max(from + count - 1, 0)})`;
  if (length === undefined) return `substr(${value}, greatest(${start}, 1))`;
  return bindOnce([value, start, length], (bound, at, size) => {
    return `substr(${bound}, greatest(${at}, 1), greatest(CASE WHEN ${at} < 1 THEN ${at} + ${size} - 1 ELSE ${size} END, 0))`;
  });
}

function splitPart(call: FunctionCall): string {
  const [text = '', delimiter = '', number = ''] = call.args;
  const value = asText(text);
  const index = readInteger(number);
  const separator = readText(delimiter);
  if (separator !== undefined && separator !== '' && index !== undefined) {
    return `split_part(${value}, ${delimiter}, ${index === 0 ? 1 : index})`;
  }
  return bindOnce([value, delimiter, number], (bound, by, at) => {
    const whole = `CASE WHEN ${at} IN (0, 1, -1) THEN ${bound} ELSE '' END`;
    return `CASE WHEN ${by} = '' THEN ${whole} ELSE split_part(${bound}, ${by}, CASE WHEN ${at} = 0 THEN 1 ELSE ${at} END) END`;
  });
}

/** The texts between any of the characters; none of them empty. */
export function renderTokens(args: readonly string[]): string {
  const delimiters = args[1] === undefined ? ' ' : readText(args[1]);
  const text = asText(args[0] ?? '');
  if (delimiters === '') return `list_filter([${text}], lambda _t: _t <> '')`;
  const pattern =
    delimiters === undefined
      ? `'[' || regexp_escape(${args[1]}) || ']'`
      : quoteText(`[${delimiters.replaceAll(/[\\\]^[-]/g, '\\$&')}]`);
  return `list_filter(regexp_split_to_array(${text}, ${pattern}), lambda _t: _t <> '')`;
}

function takeToken({ args }: FunctionCall): string {
  if (/^NULL$/i.test(args[1] ?? '')) return 'CAST(NULL AS VARCHAR)';
  const number = args[2] ?? '1';
  const index = readInteger(number);
  const tokens = renderTokens(args);
  if (index !== undefined) return index < 1 ? 'CAST(NULL AS VARCHAR)' : `(${tokens})[${index}]`;
  return bindOnce([number], (at) => `CASE WHEN ${at} > 0 THEN (${tokens})[${at}] END`);
}

/** CHARINDEX(part, text [, start]): 1-based, 0 if it is not there. */
function findPosition({ name, args: [part = '', text = '', start] }: FunctionCall): string {
  if (readKnownType(part) === 'BLOB' || readKnownType(text) === 'BLOB')
    refuseCall(name, 'positions in binary values are not supported: compare the texts of TO_VARCHAR(x, HEX)');
  const [needle, value] = [asText(part), asText(text)];
  if (start === undefined || readInteger(start) === 1) return `strpos(${value}, ${needle})`;
  return bindOnce([needle, value, start], (bound, inside, at) => {
    const from = `greatest(${at}, 1)`;
    const found = `strpos(substr(${inside}, ${from}), ${bound})`;
    return `CASE WHEN ${found} > 0 THEN ${found} + ${from} - 1 ELSE 0 END`;
  });
}

const wordDelimiters = '\\s!?@"^#$&~_,.:;+*%/|[](){}<>\'-';

/** Upper case for the first letter of each word. */
function capitalize({ args: [text = '', delimiters] }: FunctionCall): string {
  const input = delimiters === undefined ? undefined : readText(delimiters);
  const value = `lower(${asText(text)})`;
  const capital = (word: string) => `upper(left(${word}, 1)) || substr(${word}, 2)`;
  if (input === '') return bindOnce([value], (bound = '') => `(${capital(bound)})`);
  const escapeSet = (each: string) => each.replaceAll(/[\\\]^[-]/g, '\\$&');
  const set = input === undefined ? `\\s${escapeSet(wordDelimiters.slice(2))}` : escapeSet(input);
  const words = `regexp_extract_all(${value}, ${quoteText(`[^${set}]+|[${set}]+`)})`;
  // A delimiter that is a letter stays as it is.
  const isDelimiter = `regexp_matches(_w, ${quoteText(`^[${set}]`)})`;
  const form = /[a-z]/i.test(input ?? '')
    ? `CASE WHEN ${isDelimiter} THEN _w ELSE ${capital('_w')} END`
    : capital('_w');
  return `array_to_string(list_transform(${words}, lambda _w: ${form}), '')`;
}

const padding = (name: string): FunctionEntry =>
  define(2, 3, ({ args: [text = '', length = '', pad = "' '"] }) => {
    const value = asText(text);
    if (readText(pad) === '') return `left(${value}, ${length})`;
    return `${name}(${value}, ${asInteger(length)}, ${pad})`;
  });

/** NULL if any part is NULL; DuckDB's concat ignores NULLs. */
function join(args: readonly string[], dialect: SourceDialect): string {
  if (args.length === 1) return asText(args[0] ?? '');
  const write = (each: string) => {
    if (isLiteral(each)) return each;
    if (dialect === 'snowflake') return group(writeDefaultText(each));
    return group(mayBeJson(each) ? asText(each) : each);
  };
  return `(${args.map(write).join(' || ')})`;
}

function joinWith({ args: [separator = '', ...parts], dialect }: FunctionCall): string {
  return join(
    parts.flatMap((part, index) => (index === 0 ? [part] : [separator, part])),
    dialect,
  );
}

/** LIKE against any or all of several patterns, as an OR or AND of each. */
const likeEach = (operator: string, joint: string): FunctionEntry =>
  define(2, many, ({ args: [text = '', ...patterns] }) => {
    return bindOnce(
      [asText(text)],
      (bound) => `(${patterns.map((each) => `${bound} ${operator} ${group(each)}`).join(` ${joint} `)})`,
    );
  });

const ofCharacters = ofTexts('length', 1, 1);
/** Of BINARY, its bytes. */
const length: FunctionEntry = {
  ...ofCharacters,
  translate: (call) =>
    readKnownType(argumentAt(call, 0)) === 'BLOB'
      ? `octet_length(${argumentAt(call, 0)})`
      : ofCharacters.translate(call),
};

export const strings: FunctionTable = {
  UPPER: ofTexts('upper', 1, 1),
  LOWER: ofTexts('lower', 1, 1),
  TRIM: ofTexts('trim', 1, 2),
  LTRIM: ofTexts('ltrim', 1, 2),
  RTRIM: ofTexts('rtrim', 1, 2),
  BTRIM: define(1, 2, ({ args: [text = '', ...rest] }) => `trim(${[asText(text), ...rest].join(', ')})`),
  LENGTH: length,
  LEN: length,
  CHAR_LENGTH: ofTexts('length', 1, 1),
  CHARACTER_LENGTH: ofTexts('length', 1, 1),
  TEXTLEN: define(1, 1, (call) => `length(${asText(argumentAt(call, 0))})`),
  OCTET_LENGTH: define(1, 1, (call) => {
    const value = argumentAt(call, 0);
    return readKnownType(value) === 'BLOB' ? `octet_length(${value})` : `strlen(${asText(value)})`;
  }),
  LEFT: takeEnd('left'),
  RIGHT: takeEnd('right'),
  SUBSTR: define(2, 3, takePart),
  SUBSTRING: define(2, 3, takePart),
  SPLIT_PART: define(3, 3, splitPart),
  STRTOK: define(1, 3, takeToken),
  CHARINDEX: define(2, 3, findPosition),
  POSITION: define(2, 3, findPosition),
  STRPOS: ofTexts('strpos', 2, 2, 2),
  CONTAINS: ofTexts('contains', 2, 2, 2),
  STARTSWITH: define(
    2,
    2,
    ({ args: [text = '', part = ''] }) => `starts_with(${asText(text)}, ${asText(part)})`,
  ),
  ENDSWITH: define(2, 2, ({ args: [text = '', part = ''] }) => `ends_with(${asText(text)}, ${asText(part)})`),
  INITCAP: define(1, 2, capitalize),
  REPLACE: define(2, 3, ({ args: [text = '', from = '', to] }) => {
    if (to !== undefined && !needsCast(text)) return undefined;
    return `replace(${asText(text)}, ${from}, ${to ?? "''"})`;
  }),
  LPAD: padding('lpad'),
  RPAD: padding('rpad'),
  REPEAT: ofTexts('repeat', 2, 2),
  REPLICATE: rename('repeat', 2),
  REVERSE: ofTexts('reverse', 1, 1),
  TRANSLATE: ofTexts('translate', 3, 3),
  SPACE: define(1, 1, (call) => `repeat(' ', ${asInteger(argumentAt(call, 0))})`),
  ASCII: ofTexts('ascii', 1, 1),
  CHR: define(1, 1, (call) => `chr(${asInteger(argumentAt(call, 0))})`),
  CHAR: define(1, 1, (call) => `chr(${asInteger(argumentAt(call, 0))})`),
  CONCAT: define(1, many, ({ args, dialect }) => join(args, dialect)),
  CONCAT_WS: define(2, many, joinWith),
  INSERT: define(4, 4, ({ args: [text = '', position = '', length = '', inserted = ''] }) =>
    bindOnce([asText(text), position, length], (bound, at, count) => {
      return `(left(${bound}, ${at} - 1) || ${group(inserted)} || substr(${bound}, ${at} + ${count}))`;
    }),
  ),
  'LIKE ANY': likeEach('LIKE', 'OR'),
  'LIKE ALL': likeEach('LIKE', 'AND'),
  'ILIKE ANY': likeEach('ILIKE', 'OR'),
  'ILIKE ALL': likeEach('ILIKE', 'AND'),
  'NOT LIKE ANY': likeEach('NOT LIKE', 'OR'),
  'NOT LIKE ALL': likeEach('NOT LIKE', 'AND'),
};
