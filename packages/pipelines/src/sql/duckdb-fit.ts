/** Values of an API in columns of other types: what keeps all that a value says, and what becomes wide enough. */
import type { Conversion, ValueFit, ValueKind } from './dialect/dialect.ts';

const all = (value: string): ValueFit => ({ value, fits: undefined });
/** The value is not used. */
const none: ValueFit = { value: 'NULL', fits: 'false' };

const isInteger = (type: string) => /^U?(?:TINY|SMALL|BIG|HUGE)INT$|^U?INTEGER$/.test(type);
const isNumber = (type: string) => isInteger(type) || /^(?:DECIMAL\(|DOUBLE$|FLOAT$)/.test(type);
const momentDigits: Readonly<Record<string, number>> = {
  TIMESTAMP_S: 0,
  TIMESTAMP_MS: 3,
  TIMESTAMP: 6,
  TIMESTAMP_NS: 9,
  'TIMESTAMP WITH TIME ZONE': 6,
};

/** Without the `.0` that DuckDB adds to whole numbers. */
const writeDouble = (value: string) => `regexp_replace(CAST(${value} AS VARCHAR), '\\.0$', '')`;

function writeText(value: string, kind: ValueKind): string {
  if (kind === 'text' || kind === 'decimal') return value;
  if (kind === 'json')
    return `CASE WHEN json_type(${value}) = 'VARCHAR' THEN ${value} ->> '$' ELSE CAST(${value} AS VARCHAR) END`;
  return kind === 'number' ? writeDouble(value) : `CAST(${value} AS VARCHAR)`;
}

function writeJson(value: string, kind: ValueKind): string {
  if (kind === 'json') return value;
  return kind === 'number' || kind === 'decimal'
    ? `CAST(${writeText(value, kind)} AS JSON)`
    : `to_json(${value})`;
}

const matches = (value: string, pattern: string) => `regexp_full_match(${value}, '${pattern}')`;
const date = '\\d{4}-\\d\\d-\\d\\d';
const renderTime = (digits: number) =>
  `([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.${digits === 0 ? '' : `(\\d{1,${digits}}0*|`}0+${digits === 0 ? '' : ')'})?)?`;
const plainNumber = '-?(0|[1-9]\\d*)(\\.\\d+)?';
const exponent = '[eE]([+-]?\\d{1,3})';

/** `type` as the catalog names it. */
export function fitValue(value: string, kind: ValueKind, written: string): ValueFit {
  const type = written.toUpperCase();
  if (type === 'VARCHAR') return all(writeText(value, kind));
  if (type === 'JSON') return all(writeJson(value, kind));
  const cast = `TRY_CAST(${value} AS ${written})`;
  if (kind === 'json')
    return { value: cast, fits: `CAST(to_json(${cast}) AS VARCHAR) = CAST(${value} AS VARCHAR)` };
  if (kind === 'boolean') return type === 'BOOLEAN' ? all(value) : none;
  if (kind === 'integer' || kind === 'number') return fitNumber(value, kind, type);
  return fitText(value, kind, type, written);
}

function fitNumber(value: string, kind: 'integer' | 'number', type: string): ValueFit {
  const cast = `TRY_CAST(${value} AS ${type})`;
  if (kind === 'integer') {
    if (type === 'BIGINT' || type === 'HUGEINT') return all(value);
    if (isInteger(type) || type.startsWith('DECIMAL(')) return { value: cast, fits: `${cast} IS NOT NULL` };
    return isNumber(type) ? { value: cast, fits: `TRY_CAST(${cast} AS HUGEINT) = ${value}` } : none;
  }
  if (type === 'DOUBLE') return all(value);
  if (isInteger(type)) return { value: cast, fits: `${value} = trunc(${value}) AND ${cast} IS NOT NULL` };
  if (type === 'FLOAT') return { value: cast, fits: `CAST(${cast} AS VARCHAR) = CAST(${value} AS VARCHAR)` };
  if (!type.startsWith('DECIMAL(')) return none;
  // By its text: the double itself has more digits.
  const decimal = `TRY_CAST(CAST(${value} AS VARCHAR) AS ${type})`;
  return { value: decimal, fits: `CAST(${decimal} AS DOUBLE) = ${value}` };
}

function fitText(value: string, kind: 'text' | 'decimal', type: string, written: string): ValueFit {
  const cast = `TRY_CAST(${value} AS ${written})`;
  const isThere = `${cast} IS NOT NULL`;
  if (type === 'BOOLEAN') return { value: cast, fits: `${value} IN ('true', 'false')` };
  if (type === 'DATE') return { value: cast, fits: `${matches(value, date)} AND ${isThere}` };
  if (type === 'TIME') return { value: cast, fits: `${matches(value, renderTime(6))} AND ${isThere}` };
  if (type === 'UUID') return { value: cast, fits: `CAST(${cast} AS VARCHAR) = lower(${value})` };
  if (type === 'DOUBLE' || type === 'FLOAT') return fitFloat(value, cast);
  const [, scale] = /^DECIMAL\(\d+,\s*(\d+)\)$/.exec(type) ?? [];
  if (scale !== undefined) {
    // DuckDB writes small and large numbers with an exponent. A text with one is no plain number.
    const number = kind === 'decimal' ? `${plainNumber}(${exponent})?` : plainNumber;
    const digits = `length(rtrim(regexp_extract(${value}, '\\.(\\d*)', 1), '0'))`;
    const power = `coalesce(TRY_CAST(regexp_extract(${value}, '${exponent}$', 1) AS INTEGER), 0)`;
    return {
      value: cast,
      fits: `${matches(value, number)} AND ${digits} - ${power} <= ${scale} AND ${isThere}`,
    };
  }
  const moment = momentDigits[type];
  if (moment === undefined) return { value: cast, fits: `CAST(${cast} AS VARCHAR) = ${value}` };
  // A zone other than UTC would be lost, or would be missing.
  const pattern = type.endsWith('ZONE')
    ? `${date}[T ]${renderTime(moment)} ?(Z|[+-]\\d\\d(:?\\d\\d)?)`
    : `${date}([T ]${renderTime(moment)}(Z|[+-]00(:?00)?)?)?`;
  return { value: cast, fits: `${matches(value, pattern)} AND ${isThere}` };
}

/** The shortest text of the double must be the same number. */
function fitFloat(value: string, cast: string): ValueFit {
  const exact = (text: string) => `TRY_CAST(${text} AS DECIMAL(38, 18))`;
  return {
    value: cast,
    fits: `${matches(value, '-?(0|[1-9]\\d*)(\\.\\d{1,18})?')} AND ${exact(value)} = ${exact(`CAST(${cast} AS VARCHAR)`)}`,
  };
}

const simple = /^(?:BOOLEAN|DATE|TIME|TIMESTAMP.*|UUID|ENUM\(.*)$/s;

/** Types that hold what a column has, and perhaps the values too. */
export function listWiderTypes(column: string, written: string, kind: ValueKind): Conversion[] {
  const type = written.toUpperCase();
  if (!isNumber(type) && !simple.test(type)) return [];
  const isFloat = type === 'DOUBLE' || type === 'FLOAT';
  const text = isFloat ? writeDouble(column) : `CAST(${column} AS VARCHAR)`;
  const asText: Conversion = { type: 'VARCHAR', value: text, fits: undefined };
  if (kind === 'json') {
    const value = isFloat ? `CAST(${text} AS JSON)` : `to_json(${column})`;
    return isNumber(type) || type === 'BOOLEAN' ? [{ type: 'JSON', value, fits: undefined }] : [asText];
  }
  if (!isNumber(type) || (kind !== 'integer' && kind !== 'number')) return [asText];
  const convert = (wider: string): Conversion => {
    const value = `TRY_CAST(${column} AS ${wider})`;
    return { type: wider, value, fits: `TRY_CAST(${value} AS ${type}) = ${column}` };
  };
  // The digits of a FLOAT become others in a DOUBLE.
  const double = isFloat ? [] : [convert('DOUBLE')];
  return [...(kind === 'integer' && !isFloat ? [convert('BIGINT')] : []), ...double, asText];
}
