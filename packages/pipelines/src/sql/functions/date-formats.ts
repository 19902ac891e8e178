/** Date formats of Snowflake and Redshift, as formats of DuckDB's strftime and strptime. */
import type { SourceDialect } from './call.ts';
import { quoteText } from './literals.ts';

/** A piece of a format: text as it is, a format of strftime, or an expression. */
interface Piece {
  readonly kind: 'literal' | 'format' | 'expression';
  readonly value: string;
}

interface Element {
  /** How it is written by strftime. */
  readonly write: string | ((moment: string) => string);
  /** How it is read by strptime; undefined: it cannot be read. */
  readonly read?: string;
}

const both = (format: string): Element => ({ write: format, read: format });
const computed = (write: (moment: string) => string): Element => ({ write });

/** Fractions of a second by their number of digits. */
function writeFraction(digits: number): Element {
  const write = (moment: string) =>
    digits > 6
      ? `rpad(strftime(${moment}, '%f'), ${digits}, '0')`
      : `left(strftime(${moment}, '%f'), ${digits})`;
  if (digits === 6) return { write: '%f', read: '%f' };
  if (digits === 3) return { write: '%g', read: '%f' };
  return { write, read: '%f' };
}

/** strftime's %z writes NUL characters. */
function writeOffset(moment: string, format: string): string {
  const part = (name: string) => `date_part('${name}', CAST(${moment} AS TIMESTAMP WITH TIME ZONE))`;
  const minute = format.includes('02d') ? `, ${part('timezone_minute')}` : '';
  return `printf('${format}', ${part('timezone_hour')}${minute})`;
}

const snowflakeElements: Readonly<Record<string, Element>> = {
  YYYY: both('%Y'),
  YY: both('%y'),
  MMMM: both('%B'),
  MON: both('%b'),
  MM: both('%m'),
  DD: both('%d'),
  DY: both('%a'),
  HH24: both('%H'),
  HH12: both('%I'),
  HH: both('%H'),
  AM: both('%p'),
  PM: both('%p'),
  MI: both('%M'),
  SS: both('%S'),
  'TZH:TZM': { write: (moment) => writeOffset(moment, '%+03d:%02d'), read: '%z' },
  TZHTZM: { write: (moment) => writeOffset(moment, '%+03d%02d'), read: '%z' },
  TZH: { write: (moment) => writeOffset(moment, '%+03d'), read: '%z' },
  UUUU: both('%Y'),
  ...Object.fromEntries(
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((digits) => [`FF${digits}`, writeFraction(digits)]),
  ),
  FF: { ...writeFraction(9) },
};

const upper = (format: string) => computed((moment) => `upper(strftime(${moment}, '${format}'))`);
const lower = (format: string) => computed((moment) => `lower(strftime(${moment}, '${format}'))`);
const padded = (element: Element): Element => {
  const text = (moment: string) =>
    typeof element.write === 'string' ? `strftime(${moment}, '${element.write}')` : element.write(moment);
  return computed((moment) => `rpad(${text(moment)}, 9, ' ')`);
};
const part = (name: string) => (moment: string) => `CAST(date_part('${name}', ${moment}) AS VARCHAR)`;
const wide = (name: string, width: number) =>
  computed((moment) => `lpad(${part(name)(moment)}, ${width}, '0')`);

/** Case matters here, as in PostgreSQL: 'Mon' gives Jan and 'MON' gives JAN. */
const redshiftElements: Readonly<Record<string, Element>> = {
  YYYY: both('%Y'),
  YYY: computed((moment) => `right(strftime(${moment}, '%Y'), 3)`),
  YY: both('%y'),
  Y: computed((moment) => `right(strftime(${moment}, '%Y'), 1)`),
  IYYY: both('%G'),
  IY: computed((moment) => `right(strftime(${moment}, '%G'), 2)`),
  MONTH: { ...padded(upper('%B')), read: '%B' },
  Month: { ...padded(both('%B')), read: '%B' },
  month: { ...padded(lower('%B')), read: '%B' },
  MON: { ...upper('%b'), read: '%b' },
  Mon: both('%b'),
  mon: { ...lower('%b'), read: '%b' },
  MM: both('%m'),
  DAY: { ...padded(upper('%A')), read: '%A' },
  Day: { ...padded(both('%A')), read: '%A' },
  day: { ...padded(lower('%A')), read: '%A' },
  DY: { ...upper('%a'), read: '%a' },
  Dy: both('%a'),
  dy: { ...lower('%a'), read: '%a' },
  DDD: both('%j'),
  DD: both('%d'),
  ID: both('%u'),
  D: computed((moment) => `CAST(dayofweek(${moment}) + 1 AS VARCHAR)`),
  WW: computed((moment) => `lpad(CAST((dayofyear(${moment}) - 1) // 7 + 1 AS VARCHAR), 2, '0')`),
  IW: both('%V'),
  W: computed((moment) => `CAST((day(${moment}) - 1) // 7 + 1 AS VARCHAR)`),
  Q: computed(part('quarter')),
  CC: wide('century', 2),
  J: computed(part('julian')),
  HH24: both('%H'),
  HH12: both('%I'),
  HH: both('%I'),
  MI: both('%M'),
  SSSS: computed((moment) => `CAST(CAST(floor(epoch(${moment})) AS BIGINT) % 86400 AS VARCHAR)`),
  SS: both('%S'),
  MS: { write: '%g', read: '%g' },
  US: { write: '%f', read: '%f' },
  AM: both('%p'),
  PM: both('%p'),
  am: { ...lower('%p'), read: '%p' },
  pm: { ...lower('%p'), read: '%p' },
  TZ: { write: '%Z' },
  tz: lower('%Z'),
  OF: { write: (moment) => writeOffset(moment, '%+03d'), read: '%z' },
};

/** Elements whose spaces FM removes. */
const filled = /^(?:month|day)$/i;

/** The longest elements first, so that MMMM is not read as MM twice. */
const byLength = (elements: Readonly<Record<string, Element>>) =>
  Object.keys(elements).sort((left, right) => right.length - left.length);
const snowflakeNames = byLength(snowflakeElements);
const redshiftNames = byLength(redshiftElements);

interface Found {
  readonly name: string;
  readonly element: Element;
}

function findElement(format: string, at: number, dialect: SourceDialect): Found | undefined {
  if (dialect === 'snowflake') {
    const rest = format.slice(at, at + 7).toUpperCase();
    const name = snowflakeNames.find((each) => rest.startsWith(each));
    const element = name === undefined ? undefined : snowflakeElements[name];
    return name === undefined || element === undefined ? undefined : { name, element };
  }
  const rest = format.slice(at, at + 5);
  const name =
    redshiftNames.find((each) => rest.startsWith(each)) ??
    redshiftNames.find((each) => rest.toUpperCase().startsWith(each));
  const element = name === undefined ? undefined : redshiftElements[name];
  return name === undefined || element === undefined ? undefined : { name, element };
}

/** The elements and the literal text of a format. */
function* readPieces(format: string, dialect: SourceDialect): Generator<string | Found> {
  let at = 0;
  let fill = true;
  while (at < format.length) {
    if (format[at] === '"') {
      const end = format.indexOf('"', at + 1);
      const close = end < 0 ? format.length : end;
      yield format.slice(at + 1, close);
      at = close + 1;
    } else if (dialect === 'redshift' && format.slice(at, at + 2).toUpperCase() === 'FM') {
      fill = false;
      at += 2;
    } else {
      const found = findElement(format, at, dialect);
      if (found === undefined) {
        yield format[at] as string;
        at += 1;
      } else {
        yield fill || !filled.test(found.name) ? found : { ...found, element: removeFill(found.name) };
        at += found.name.length;
      }
    }
  }
}

function removeFill(name: string): Element {
  const format = /^month$/i.test(name) ? '%B' : '%A';
  if (name === name.toUpperCase()) return { ...upper(format), read: format };
  return name === name.toLowerCase() ? { ...lower(format), read: format } : both(format);
}

/** Whether the format has an element of a date or time. */
export function isDateFormat(format: string, dialect: SourceDialect): boolean {
  for (const piece of readPieces(format, dialect)) if (typeof piece !== 'string') return true;
  return false;
}

/** The text of `moment`, which stands in it once for each element that strftime does not have. */
export function writeMoment(moment: string, format: string, dialect: SourceDialect): string {
  const pieces: Piece[] = [];
  for (const piece of readPieces(format, dialect)) {
    if (typeof piece === 'string') pieces.push({ kind: 'format', value: piece.replaceAll('%', '%%') });
    else if (typeof piece.element.write === 'string')
      pieces.push({ kind: 'format', value: piece.element.write });
    else pieces.push({ kind: 'expression', value: piece.element.write(moment) });
  }
  if (pieces.length === 0) return `left(strftime(${moment}, ' '), 0)`;
  const parts: string[] = [];
  let run = '';
  const flush = () => {
    if (run !== '') parts.push(`strftime(${moment}, ${quoteText(run)})`);
    run = '';
  };
  for (const { kind, value } of pieces) {
    if (kind === 'format') run += value;
    else {
      flush();
      parts.push(value);
    }
  }
  flush();
  return parts.length === 1 ? (parts[0] ?? '') : `(${parts.join(' || ')})`;
}

/** Whether `writeMoment` needs the moment more than once. */
export function usesMomentOnce(format: string, dialect: SourceDialect): boolean {
  for (const piece of readPieces(format, dialect))
    if (typeof piece !== 'string' && typeof piece.element.write !== 'string') return false;
  return true;
}

/** The format of strptime; undefined if it has an element that cannot be read. */
export function readFormat(format: string, dialect: SourceDialect): string | undefined {
  let result = '';
  for (const piece of readPieces(format, dialect)) {
    if (typeof piece === 'string') result += piece.replaceAll('%', '%%');
    else if (piece.element.read === undefined) return undefined;
    else result += piece.element.read;
  }
  return result;
}
