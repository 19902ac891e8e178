/**
 * Division as the warehouses do it. A divisor of 0 is an error; in DuckDB the result would be infinite or NULL. The
 * result has the vendor's type: DuckDB takes it from the types of the operands, which are known only to it.
 */
import type { SourceDialect } from './call.ts';
import { bindOnce, group, readCallName, readKnownType } from './expressions.ts';

const failure = "error('division by zero')";
const numeral = /^-?\d{1,38}(?:\.(\d{1,37}))?$/;

/** The divisor of `/` and `%`, which fails at the run if it is 0. */
export function refuseZero(divisor: string): string {
  if (numeral.test(divisor)) return Number(divisor) === 0 ? `CAST(${failure} AS INTEGER)` : divisor;
  if (readCallName(divisor) === 'nullif' && /,\s*0\)$/.test(divisor)) return divisor;
  return bindOnce([divisor], (name) => `(CASE WHEN ${name} = 0 THEN ${failure} ELSE ${group(name)} END)`);
}

/** `dividend / divisor` */
export function renderDivision(dividend: string, divisor: string, dialect: SourceDialect): string {
  if (isFraction(dividend) || isFraction(divisor)) return `${group(dividend)} / ${refuseZero(divisor)}`;
  return bindOnce([dividend, divisor], (left = '', right = '') =>
    renderQuotient(left, right, refuseZero(right), dialect),
  );
}

/** Whether the operand is known to make the result a floating-point number, or an interval. */
function isFraction(sql: string): boolean {
  return /^(?:DOUBLE|FLOAT|REAL)/.test(readKnownType(sql) ?? '') || /^\(?interval\b/i.test(sql);
}

/**
 * The quotient of names or short expressions.
 *
 * @param divisor `right`, or what fails if it is 0
 */
export function renderQuotient(left: string, right: string, divisor: string, dialect: SourceDialect): string {
  const quotient = `${left} / ${divisor}`;
  if (dialect === 'redshift') {
    const type = findRedshiftType(readDecimal(left), readDecimal(right));
    if (type !== undefined) return `CAST(${quotient} AS ${type})`;
    // DuckDB's // gives whole numbers for whole numbers, and a DOUBLE for others.
    const whole = `${left} // ${divisor}`;
    return `cast_to_type(CASE WHEN typeof(${left} // ${right}) = 'DOUBLE' THEN ${quotient} ELSE ${whole} END, ${left} // ${right})`;
  }
  const [literal, fraction = ''] = numeral.exec(left) ?? [];
  if (literal !== undefined && numeral.test(right)) {
    const scale = Math.max(fraction.length, Math.min(fraction.length + 6, 12));
    return `CAST(${quotient} AS DECIMAL(38, ${scale}))`;
  }
  // A product of decimals has the sum of their scales; it is bound, and not computed.
  const factor = numeral.test(right) ? '' : ` * round(${right}, 0)`;
  return `cast_to_type(${quotient}, coalesce(round(${left}${factor} * 0.000000, 12), NULL::DECIMAL(20, 0)))`;
}

interface Decimal {
  readonly digits: number;
  readonly scale: number;
  readonly isWhole: boolean;
}

const wholeDigits: Readonly<Record<string, number>> = { SMALLINT: 5, INTEGER: 10, BIGINT: 19 };

/** The type of a literal or a cast. */
function readDecimal(sql: string): Decimal | undefined {
  const [literal, fraction] = numeral.exec(sql) ?? [];
  if (literal !== undefined) {
    const digits = literal.replaceAll(/\D/g, '').length;
    if (fraction !== undefined) return { digits, scale: fraction.length, isWhole: false };
    return { digits: digits < 10 ? 10 : 19, scale: 0, isWhole: true };
  }
  const type = readCallName(sql) === 'cast' ? sql.slice(sql.lastIndexOf(' AS ') + ' AS '.length, -1) : '';
  const whole = wholeDigits[type];
  if (whole !== undefined) return { digits: whole, scale: 0, isWhole: true };
  const [, digits, scale] = /^DECIMAL\((\d+), (\d+)\)$/.exec(type) ?? [];
  return digits === undefined ? undefined : { digits: Number(digits), scale: Number(scale), isWhole: false };
}

/** Redshift's "Computations with numeric values". Undefined for two whole numbers, and if a type is not known. */
function findRedshiftType(left: Decimal | undefined, right: Decimal | undefined): string | undefined {
  if (left === undefined || right === undefined || (left.isWhole && right.isWhole)) return undefined;
  const scale = Math.max(4, left.scale + right.digits - right.scale + 1);
  const before = left.digits - left.scale + right.scale;
  return `DECIMAL(38, ${Math.max(4, Math.min(scale, 38 - before))})`;
}
