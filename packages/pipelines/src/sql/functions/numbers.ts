/** Arithmetic, bits, random values and sequences. */
import {
  argumentAt,
  define,
  type FunctionCall,
  type FunctionEntry,
  type FunctionTable,
  many,
  refuse,
  rename,
} from './call.ts';
import { truncateDate } from './date-arithmetic.ts';
import { refuseZero, renderQuotient } from './division.ts';
import {
  asBigint,
  asNumber,
  asText,
  bindOnce,
  group,
  isLiteral,
  pickName,
  readKnownType,
} from './expressions.ts';
import { readInteger, readText } from './literals.ts';
import { readUnit } from './units.ts';

/** A text or JSON argument becomes a number, if DuckDB has the function under the same name. */
const numeric = (name: string, least: number, most = least): FunctionEntry =>
  define(least, most, ({ args: [first = '', ...rest] }) => {
    const number = asNumber(first);
    return number === first ? undefined : `${name}(${[number, ...rest].join(', ')})`;
  });

function round(call: FunctionCall): string | undefined {
  const [value = '', scale = '0', mode] = call.args;
  if (mode !== undefined && readText(mode)?.toUpperCase() === 'HALF_TO_EVEN') {
    return `round_even(${asNumber(value)}, ${scale})`;
  }
  const number = asNumber(value);
  if (number === value && mode === undefined) return undefined;
  return call.args.length === 1 ? `round(${number})` : `round(${number}, ${scale})`;
}

/** Of a number to a scale, or of a date to a unit. */
function truncate(call: FunctionCall): string | undefined {
  if (call.args.length === 2 && readUnit(call.source[1]) !== undefined) return truncateDate(call);
  const [value = '', scale] = call.args;
  const type = readKnownType(value);
  const isDate = type !== undefined && /^(?:DATE|TIMESTAMP)/.test(type);
  if (scale === undefined && (isDate || /^(?:date|timestamp)\s*'/i.test(value)))
    return `CAST(${value} AS DATE)`;
  if (scale === undefined && type === undefined && call.dialect === 'redshift' && !isLiteral(value))
    return bindOnce([value], truncateByType);
  return `trunc(${[asNumber(value), ...(scale === undefined ? [] : [scale])].join(', ')})`;
}

/** TRUNC of Redshift gives a date for a timestamp. DuckDB knows which it is, and computes one of both. */
function truncateByType(value = ''): string {
  const text = `CAST(${value} AS VARCHAR)`;
  const whole = `CAST(trunc(TRY_CAST(${text} AS DECIMAL(38, 10))) AS VARCHAR)`;
  const isMoment = `typeof(${value}) IN ('DATE', 'TIMESTAMP', 'TIMESTAMP WITH TIME ZONE')`;
  const ofMoment = `replace_type(replace_type(${value}, NULL::TIMESTAMP, NULL::DATE), NULL::TIMESTAMPTZ, NULL::DATE)`;
  return `cast_to_type(CASE WHEN ${isMoment} THEN left(${text}, 10) ELSE ${whole} END, replace_type(${ofMoment}, NULL::VARCHAR, NULL::DECIMAL(38, 0)))`;
}

const digits = '0123456789abcdefghijklmnopqrstuvwxyz';

/** The number that a text has in a base from 2 to 36. */
function readInBase({ args: [value = '', base = ''] }: FunctionCall): string {
  return bindOnce([`lower(trim(${asText(value)}))`, `CAST(${base} AS BIGINT)`], (text = '', radix = '') => {
    const place = pickName([text, radix, '_x8']);
    const plain = `CASE WHEN ${radix} = 16 THEN regexp_replace(${text}, '^([+-]?)0x', '\\1') ELSE ${text} END`;
    const listed = `list_transform(string_split(ltrim(${plain}, '+-'), ''), lambda ${place}: CAST(strpos('${digits}', ${place}) - 1 AS BIGINT))`;
    const sign = `CASE WHEN starts_with(${text}, '-') THEN -1 ELSE 1 END`;
    const sum = `list_reduce(list_prepend(0::BIGINT, ${listed}), lambda ${place}a, ${place}b: ${place}a * ${radix} + ${place}b)`;
    const isWrong = `ltrim(${plain}, '+-') = '' OR list_max(${listed}) >= ${radix} OR list_min(${listed}) < 0`;
    const fault = `error('STRTOL: "' || ${text} || '" is not a number of base ' || ${radix})`;
    return `CASE WHEN ${text} IS NULL OR ${radix} IS NULL THEN NULL WHEN ${text} = '' THEN 0 WHEN ${isWrong} THEN ${fault} ELSE ${sign} * ${sum} END`;
  });
}

/** CEIL and FLOOR to a number of decimal places. */
const toScale = (name: string): FunctionEntry =>
  define(1, 2, ({ args: [value = '', scale] }) => {
    const number = asNumber(value);
    if (scale === undefined || readInteger(scale) === 0)
      return number === value ? undefined : `${name}(${number})`;
    const exact = `CAST(${number} AS DECIMAL(38, 12))`;
    const places = readInteger(scale);
    if (places !== undefined && places > 0) return `(${name}(${exact} * ${10 ** places}) / ${10 ** places})`;
    if (places !== undefined) return `(${name}(${number} / ${10 ** -places}) * ${10 ** -places})`;
    return bindOnce(
      [number, scale],
      (bound, power) => `(${name}(${bound} * pow(10, ${power})) / pow(10, ${power}))`,
    );
  });

const typeNull = (sql: string) => (/^NULL$/i.test(sql) ? 'nullif(1, 1)' : sql);

/** 0 if the divisor is 0. */
const divide = (isZero: (divisor: string) => string): FunctionEntry =>
  define(2, 2, ({ args: [dividend = '', divisor = ''] }) =>
    bindOnce([dividend, divisor].map(typeNull).map(asNumber), (left = '', right = '') => {
      const quotient = renderQuotient(group(left), group(right), group(right));
      return `CASE WHEN ${isZero(right)} THEN 0 * ${group(left)} ELSE ${quotient} END`;
    }),
  );

const bits = (operator: string): FunctionEntry =>
  define(2, 3, ({ args: [left = '', right = ''] }) => `(${asBigint(left)} ${operator} ${asBigint(right)})`);

/** Numbers from least to most with both ends; with fractions if one of them has a fraction. */
function renderUniform(call: FunctionCall): string {
  const [least = '', most = ''] = call.args;
  if (/\d\.\d|\de\d|DOUBLE|FLOAT|DECIMAL/i.test(`${least} ${most}`)) {
    return `(${least} + random() * (${most} - ${least}))`;
  }
  return bindOnce([least, most], (from = '', to = '') => {
    return `CAST(floor(random() * (${group(to)} - ${group(from)} + 1)) + ${group(from)} AS BIGINT)`;
  });
}

function findBucket(call: FunctionCall): string {
  return bindOnce(call.args.map(asNumber), (value = '', least = '', most = '', count = '') => {
    const inside = `CAST(floor((${value} - ${least}) * ${count} / (${most} - ${least})) AS BIGINT) + 1`;
    return `CASE WHEN ${value} < ${least} THEN 0 WHEN ${value} >= ${most} THEN ${count} + 1 ELSE ${inside} END`;
  });
}

/** Kilometres on a sphere of 6371 km. */
function measureDistance(call: FunctionCall): string {
  return bindOnce(call.args, (latitude1, longitude1, latitude2, longitude2) => {
    const half = (from: string | undefined, to: string | undefined) =>
      `pow(sin(radians(${to} - ${from}) / 2), 2)`;
    const cosines = `cos(radians(${latitude1})) * cos(radians(${latitude2}))`;
    return `(2 * 6371 * asin(sqrt(${half(latitude1, latitude2)} + ${cosines} * ${half(longitude1, longitude2)})))`;
  });
}

/** Counts the rows from 0. In a window, `renderClauses` takes it out again. */
export const rowSequence = '(row_number() OVER () - 1)';
const sequence = define(0, 1, () => rowSequence);
const alphanumerics = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export const numbers: FunctionTable = {
  ROUND: define(1, 3, round),
  TRUNC: define(1, 2, truncate),
  TRUNCATE: define(1, 2, truncate),
  STRTOL: define(2, 2, readInBase),
  CEIL: toScale('ceil'),
  CEILING: toScale('ceil'),
  FLOOR: toScale('floor'),
  ABS: numeric('abs', 1),
  SIGN: numeric('sign', 1),
  SQRT: numeric('sqrt', 1),
  // DuckDB's cube root of 27 is 3.0000000000000004.
  CBRT: define(1, 1, (call) =>
    bindOnce(
      [`cbrt(${asNumber(argumentAt(call, 0))})`],
      (root) =>
        `CASE WHEN abs(${root} - round(${root})) < 1e-14 * abs(${root}) THEN round(${root}) ELSE ${root} END`,
    ),
  ),
  TO_HEX: define(1, 1, ({ args, dialect }) =>
    dialect === 'redshift' ? `lower(to_hex(${args[0]}))` : undefined,
  ),
  MOD: define(
    2,
    2,
    ({ args: [left = '', right = ''] }) => `mod(${asNumber(left)}, ${refuseZero(asNumber(right))})`,
  ),
  SQUARE: define(1, 1, (call) => `pow(${asNumber(argumentAt(call, 0))}, 2)`),
  DIV0: divide((divisor) => `${divisor} = 0`),
  DIV0NULL: divide((divisor) => `coalesce(${divisor}, 0) = 0`),
  RANDOM: define(0, 1, ({ dialect }) =>
    dialect === 'redshift' ? undefined : 'CAST(floor((random() - 0.5) * 18446744073709551615) AS BIGINT)',
  ),
  UNIFORM: define(2, 3, renderUniform),
  NORMAL: define(
    2,
    3,
    ({ args: [mean = '', deviation = ''] }) =>
      `(${group(mean)} + ${group(deviation)} * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))`,
  ),
  ZIPF: refuse('this distribution is not supported: use UNIFORM or NORMAL'),
  RANDSTR: define(
    1,
    2,
    ({ args: [length = ''] }) =>
      `array_to_string(list_transform(range(${asBigint(length)}), lambda _c: substr('${alphanumerics}', 1 + CAST(floor(random() * 62) AS INTEGER), 1)), '')`,
  ),
  BITAND: bits('&'),
  BITOR: bits('|'),
  BITXOR: define(2, 3, ({ args: [left = '', right = ''] }) => `xor(${asBigint(left)}, ${asBigint(right)})`),
  BITNOT: define(1, 1, (call) => `(~ ${asBigint(argumentAt(call, 0))})`),
  BITSHIFTLEFT: bits('<<'),
  BITSHIFTRIGHT: bits('>>'),
  WIDTH_BUCKET: define(4, 4, findBucket),
  HAVERSINE: define(4, 4, measureDistance),
  SEQ1: sequence,
  SEQ2: sequence,
  SEQ4: sequence,
  SEQ8: sequence,
  DEXP: rename('exp', 1),
  DLOG1: rename('ln', 1),
  DLOG10: rename('log10', 1),
  POWER: define(2, 2, undefinedUnlessText),
  POW: define(2, 2, undefinedUnlessText),
  HASH: define(1, many, ({ args }) => renderSignedHash(`hash(${renderAllColumns(args)})`)),
};

function undefinedUnlessText({ args: [base = '', exponent = ''] }: FunctionCall): string | undefined {
  const numbers = [asNumber(base), asNumber(exponent)];
  return numbers[0] === base && numbers[1] === exponent ? undefined : `pow(${numbers.join(', ')})`;
}

/** Snowflake's HASH is a signed number. */
export function renderSignedHash(hash: string): string {
  return `CAST(CAST(${hash} AS HUGEINT) - 9223372036854775808 AS BIGINT)`;
}

/** `*` as an argument. */
export function renderAllColumns(args: readonly string[]): string {
  return args.map((each) => (each.trim() === '*' ? '*COLUMNS(*)' : each)).join(', ');
}
