/**
 * Division as the warehouses do it. A divisor of 0 is an error; in DuckDB the result would be infinite or NULL. The
 * result has the vendor's type: DuckDB takes it from the types of the operands, which are known only to it.
 */
import type { SourceDialect } from './call.ts';
import { bindOnce, group, readCallName, readKnownType } from './expressions.ts';
import { renderRedshiftQuotient } from './redshift-division.ts';

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
  if (dialect === 'redshift') {
    const type = findRedshiftType(readDecimal(dividend), readDecimal(divisor));
    return renderRedshiftQuotient({ left: dividend, right: divisor, type, refuseZero });
  }
  return bindOnce([dividend, divisor], (left = '', right = '') =>
    renderQuotient(left, right, refuseZero(right)),
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
export function renderQuotient(left: string, right: string, divisor: string): string {
  const quotient = `${left} / ${divisor}`;
  const [literal, fraction = ''] = numeral.exec(left) ?? [];
  if (literal !== undefined && numeral.test(right)) {
    const scale = Math.max(fraction.length, Math.min(fraction.length + 6, 12));
    return `CAST(${quotient} AS DECIMAL(38, ${scale}))`;
  }
  // A product of decimals has the sum of their scales; it is bound, and not computed.
  const factor = numeral.test(right) ? '' : ` * round(${right}, 0)`;
  return `cast_to_type(${quotient}, ${quotientType(`${left}${factor}`)})`;
}

/** A value whose type is that of quotients in Snowflake. */
const quotientType = (dividend: string) =>
  `coalesce(round(${dividend} * 0.000000, 12), NULL::DECIMAL(20, 0))`;

/** A quotient of numbers with the scale that Snowflake gives it. */
export const castToQuotient = (quotient: string, dividend: string) =>
  `cast_to_type(${quotient}, ${quotientType(dividend)})`;

/** A mean, with the type of the quotient of a sum and a count. */
export function renderMean(
  { mean, sum, count, least }: Readonly<Record<'mean' | 'sum' | 'count' | 'least', string>>,
  dialect: SourceDialect,
): string {
  if (dialect === 'snowflake') return castToQuotient(mean, least);
  return renderRedshiftQuotient({ left: sum, right: count, mean, refuseZero });
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
  const before = left.digits - left.scale + right.scale;
  const scale = Math.max(4, Math.min(left.scale + right.digits - right.scale + 1, 38 - before));
  return `DECIMAL(${Math.min(38, before + scale)}, ${scale})`;
}
