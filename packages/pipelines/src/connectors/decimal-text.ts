/** Decimal numbers as they are written, without the rounding of a double. */

interface Decimal {
  isNegative: boolean;
  /** Without zeros at either end; '' is zero. */
  digits: string;
  /** The power of ten of the first digit. */
  magnitude: number;
}

const written = /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

function readDecimal(text: string): Decimal | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = written.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const all = `${whole}${fraction}`;
  const first = all.search(/[1-9]/);
  if (first < 0) return { isNegative: false, digits: '', magnitude: 0 };
  let end = all.length;
  while (all[end - 1] === '0') end -= 1;
  return {
    isNegative: sign === '-',
    digits: all.slice(first, end),
    magnitude: whole.length - first + Number(exponent),
  };
}

/** Whether a text is a decimal number. */
export const isDecimal = (text: string): boolean => written.test(text);

/** Digits that are enough to write any double and read the same one. */
const doubleDigits = 17;

/**
 * Whether a double keeps a number: its usual text is the same number. A fraction may also be what programs write for
 * a double with more digits than it needs: `0.10000000000000001` is 0.1.
 */
export function isExactDouble(text: string): boolean {
  const decimal = readDecimal(text);
  const value = Number(text);
  if (decimal === undefined || !Number.isFinite(value)) return false;
  if (decimal.digits === '' || value === 0) return decimal.digits === '' && value === 0;
  if (compareDecimals(text, String(value)) === 0) return true;
  if (decimal.digits.length > doubleDigits || Number.isInteger(value)) return false;
  return compareDecimals(text, value.toPrecision(decimal.digits.length)) === 0;
}

/** By value, with all digits. Both must be decimal numbers. */
export function compareDecimals(one: string, other: string): number {
  const left = readDecimal(one);
  const right = readDecimal(other);
  if (left === undefined || right === undefined) return Number.NaN;
  const [sign, otherSign] = [findSign(left), findSign(right)];
  if (sign !== otherSign) return sign - otherSign;
  if (left.magnitude !== right.magnitude) return sign * (left.magnitude - right.magnitude);
  if (left.digits === right.digits) return 0;
  return left.digits < right.digits ? -sign : sign;
}

function findSign({ digits, isNegative }: Decimal): number {
  if (digits === '') return 0;
  return isNegative ? -1 : 1;
}
