/** Formats of numbers such as '999,999.00', as expressions of DuckDB. */
import { trimEnd } from '../../format/trims.ts';
import { type FunctionCall, refuseCall } from './call.ts';
import { bindOnce } from './expressions.ts';
import { quoteText } from './literals.ts';

interface NumberFormat {
  /** 9, 0 and separators before the decimal point. */
  readonly whole: string;
  /** 9 and 0 after it. */
  readonly fraction: string;
  readonly point: boolean;
  readonly dollar: boolean;
  readonly fill: boolean;
  readonly sign: 'default' | 'S first' | 'S last' | 'MI';
  readonly before: string;
  readonly after: string;
}

/** @throws SqlError naming the element that is not supported */
export function parseNumberFormat(call: FunctionCall, format: string): NumberFormat {
  const literals: string[] = [];
  let text = format.replaceAll(/"([^"]*)"/g, (_, literal: string) => {
    literals.push(literal);
    return `"${literals.length - 1}"`;
  });
  const edge = (pattern: RegExp) => {
    const found = pattern.exec(text);
    if (found === null) return '';
    text = text.replace(pattern, '');
    return literals[Number(found[1])] ?? '';
  };
  const before = edge(/^"(\d+)"/);
  const after = edge(/"(\d+)"$/);
  const upper = text.toUpperCase();
  const fill = !upper.includes('FM');
  let rest = upper.replaceAll('FM', '').trim();
  const dollar = /[$L]/.test(rest);
  if (/^[$L]\s*S|PR$|RN$/.test(rest))
    refuseCall(
      call.name,
      `the format "${format}" is not supported: write the sign before "$", as in 'S$999D99'`,
    );
  rest = rest.replaceAll(/[$L]/g, '');
  const sign = rest.startsWith('S')
    ? 'S first'
    : rest.endsWith('S')
      ? 'S last'
      : rest.endsWith('MI')
        ? 'MI'
        : 'default';
  rest = rest
    .replace(/^S|S$|MI$/, '')
    .replaceAll('G', ',')
    .replaceAll('D', '.');
  const parts = /^([90,]*)(?:(\.)([90]*))?$/.exec(rest);
  if (parts === null || (parts[1] === '' && (parts[3] ?? '') === '')) {
    refuseCall(
      call.name,
      `the format "${format}" is not supported: use 9, 0, "," "." "$", S, MI and FM for numbers`,
    );
  }
  const [, whole = '', point = '', fraction = ''] = parts as RegExpExecArray;
  if (whole.includes(',') && !/^[90]{1,3}(?:,[90]{3})*$/.test(whole)) {
    refuseCall(call.name, `the format "${format}" is not supported: put a comma before each three digits`);
  }
  return { whole, fraction, point: point !== '', dollar, fill, sign, before, after };
}

/** `0000000x`: digits of base 16, in the case of the letter. */
export function isHexFormat(format: string): boolean {
  return /^(?:FM)?0*(?:x+|X+)$/.test(format);
}

/** The number in base 16. Places without a 0 in the format are blank. */
export function writeHex(number: string, format: string): string {
  const places = format.replace(/^FM/, '');
  const digits = places.includes('X') ? `hex(${number})` : `lower(hex(${number}))`;
  const isFilled = !format.startsWith('FM') || places.startsWith('0');
  if (!isFilled || places.length === 1) return digits;
  return bindOnce(
    [digits],
    (text = '') =>
      `lpad(${text}, CAST(greatest(length(${text}), ${places.length}) AS INTEGER), '${places.startsWith('0') ? '0' : ' '}')`,
  );
}

/** The text of a number as the format asks. Digits that do not fit give '#', as in Snowflake and PostgreSQL. */
export function writeNumber(call: FunctionCall, number: string, format: string): string {
  const parsed = parseNumberFormat(call, format);
  const digits = parsed.whole.replaceAll(',', '');
  const scale = parsed.fraction.length;
  const limit = digits === '' ? '1' : `1${'0'.repeat(digits.length)}`;
  const size = Math.min(38, Math.max(18, digits.length + scale + 1));
  return bindOnce([number], (name = '') => {
    // A number that is too large becomes the limit, which gives '#'.
    const rounded = `coalesce(TRY_CAST(${name} AS DECIMAL(${size}, ${scale})), CASE WHEN ${name} IS NOT NULL THEN ${limit} END)`;
    return renderRounded(call, parsed, rounded, limit);
  });
}

function renderRounded(call: FunctionCall, parsed: NumberFormat, rounded: string, limit: string): string {
  const digits = parsed.whole.replaceAll(',', '');
  const scale = parsed.fraction.length;
  return bindOnce([rounded], (value = '') => {
    const text = `CAST(abs(${value}) AS VARCHAR)`;
    const body = `${renderWhole(call, parsed, digits, text)}${renderFraction(call, parsed, text)}`;
    const width = parsed.whole.length + scale + (parsed.point ? 1 : 0);
    const marks = quoteText('#'.repeat(digits.length) + (parsed.point ? `.${'#'.repeat(scale)}` : ''));
    const isWide = `abs(${value}) >= ${limit}`;
    const shown = `CASE WHEN ${isWide} THEN ${marks} ELSE ${body} END`;
    return renderSign(parsed, value, shown, width);
  });
}

/** Zeros from the first 0 of the format on; a comma before each three digits. */
function renderWhole(
  call: FunctionCall,
  { whole, point, fraction }: NumberFormat,
  digits: string,
  text: string,
): string {
  if (digits === '') return "''";
  const firstZero = digits.indexOf('0');
  const least = firstZero < 0 ? 0 : digits.length - firstZero;
  let value = `split_part(${text}, '.', 1)`;
  // PostgreSQL writes .5 and Snowflake 0.5 for a 9 before the point.
  if (least === 0 && point && fraction !== '' && call.dialect === 'redshift') value = `ltrim(${value}, '0')`;
  if (least > 1) value = `lpad(${value}, CAST(greatest(length(${value}), ${least}) AS INTEGER), '0')`;
  if (!whole.includes(',')) return value;
  // A comma too many at the front of 123456 is removed with the sign.
  return `reverse(regexp_replace(reverse(${value}), '(\\d{3})', '\\1,', 'g'))`;
}

function renderFraction(call: FunctionCall, { fraction, point, fill }: NumberFormat, text: string): string {
  if (!point) return '';
  if (fraction === '') return ` || '.'`;
  const value = `split_part(${text}, '.', 2)`;
  const nines = fraction.length - trimEnd(fraction, '9').length;
  if (nines === 0 || (fill && call.dialect === 'redshift')) return ` || '.' || ${value}`;
  const retained = fraction.length - nines;
  const trimmed = `left(${value}, ${retained}) || rtrim(substr(${value}, ${retained + 1}), '0')`;
  return ` || '.' || ${fill ? `rpad(${trimmed}, ${fraction.length}, ' ')` : trimmed}`;
}

function renderSign(format: NumberFormat, value: string, shown: string, width: number): string {
  const dollar = format.dollar ? "'$' || " : '';
  const isNegative = `${value} < 0`;
  const pad = (text: string, size: number) => (format.fill ? `lpad(${text}, ${size}, ' ')` : text);
  const number = `${dollar}ltrim(${shown}, ',')`;
  const size = width + (format.dollar ? 1 : 0);
  const minus = (positive: string) => `CASE WHEN ${isNegative} THEN '-' ELSE '${positive}' END`;
  let text: string;
  if (format.sign === 'S last') text = `${pad(number, size)} || ${minus('+')}`;
  else if (format.sign === 'MI') text = `${pad(number, size)} || ${minus(format.fill ? ' ' : '')}`;
  else text = pad(`${minus(format.sign === 'S first' ? '+' : '')} || ${number}`, size + 1);
  const before = format.before === '' ? '' : `${quoteText(format.before)} || `;
  const after = format.after === '' ? '' : ` || ${quoteText(format.after)}`;
  return `(${before}${text}${after})`;
}

/** A text with separators, a currency sign or a sign at its end, as a text that can be cast to a number. */
export function cleanNumberText(text: string, format: string): string {
  const bare = `regexp_replace(${text}, '[$,\\s]', '', 'g')`;
  if (!/MI|S$/i.test(format)) return bare;
  return `regexp_replace(${bare}, '^([0-9.]+)-$', '-\\1')`;
}
