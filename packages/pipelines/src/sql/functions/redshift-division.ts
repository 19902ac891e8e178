/**
 * Quotients and means of Redshift: whole for whole numbers, decimals with the scale of "Computations with numeric
 * values" and their further digits cut off, and else floating-point numbers (docs/adr/0097-quotients-of-redshift.md).
 *
 * DuckDB replaces `typeof` by a text when it binds, and folds what is computed of it, also the name of the type that
 * `from_json` gives. So the scale follows from the types of columns, and costs nothing when the query runs.
 */
import { findClosing, isSimple, pickName } from './expressions.ts';

/** `left / right`, or a mean as the quotient of a sum and a count. */
export interface Division {
  readonly left: string;
  readonly right: string;
  /** DuckDB's mean, which is a floating-point number. */
  readonly mean?: string | undefined;
  /** The type of the result, if it is known. */
  readonly type?: string | undefined;
  /** What fails if the divisor is 0, and else is the divisor. */
  readonly refuseZero: (divisor: string) => string;
}

const pattern = String.raw`^DECIMAL\((\d+),(\d+)\)/DECIMAL\((\d+),(\d+)\)$`;
/** How whole numbers take part in calculations with decimals. */
const wholeDigits = { TINYINT: 5, SMALLINT: 5, INTEGER: 10, BIGINT: 19, HUGEINT: 19 };

/** A product of decimals has a digit more in Redshift than in DuckDB for each of its signs. */
function nameOperandType(operand: string): string {
  const type = `typeof(${operand})`;
  const more = countProducts(operand);
  if (more === 0) return type;
  const digits = `TRY_CAST(regexp_extract(${type}, '(\\d+),', 1) AS INT)`;
  return `CASE WHEN ${type} LIKE 'DECIMAL%' THEN 'DECIMAL(' || least(38, ${digits} + ${more}) || regexp_extract(${type}, ',.*') ELSE ${type} END`;
}

/** The `*` of `a * b`, also in parentheses; 0 if it has other operators. */
function countProducts(operand: string): number {
  const sql = operand.trim();
  if (sql.startsWith('(') && findClosing(sql, 0) === sql.length - 1) return countProducts(sql.slice(1, -1));
  let products = 0;
  for (let index = 0; index < sql.length; index += 1) {
    const character = sql[index] as string;
    if (character === '(') index = findClosing(sql, index);
    else if (character === '"') index = sql.indexOf('"', index + 1);
    if (index < 0) return 0;
    if (character === '*') products += 1;
    else if (/[-+/%|<>='[]/.test(character)) return 0;
  }
  return products;
}

/** A value of the type of the result. */
function renderType({ left, right, mean, type }: Division): string {
  if (type !== undefined) return `CAST(NULL AS ${type})`;
  let types = `${nameOperandType(left)} || '/' || ${nameOperandType(right)}`;
  for (const [type, digits] of Object.entries(wholeDigits))
    types = `replace(${types}, '${type}', 'DECIMAL(${digits},0)')`;
  const parts = `TRY_CAST(regexp_extract(${types}, '${pattern}', ['p', 's', 'q', 't']) AS STRUCT(p INT, s INT, q INT, t INT))`;
  const before = '_d.p - _d.s + _d.t';
  const scale = `greatest(4, least(_d.s + _d.q - _d.t + 1, 38 - (${before})))`;
  const size = mean === undefined ? `least(38, ${before} + ${scale}) || ',' || ${scale}` : "'38,' || _d.s";
  const decimal = `CASE WHEN _d.q IS NULL THEN 'DOUBLE' ELSE 'DECIMAL(' || ${size} || ')' END`;
  const folded = `list_transform([${parts}], lambda _d: ${decimal})[1]`;
  // DuckDB's // gives whole numbers for whole numbers, and a DOUBLE for others.
  const whole = `typeof(${left} // ${right})`;
  return `from_json('null', '"' || (CASE WHEN ${whole} = 'DOUBLE' THEN ${folded} ELSE ${whole} END) || '"')`;
}

/** The quotient of names, in the type of the name `type`. */
function renderBody({ left, right, mean, refuseZero }: Division, type: string): string {
  const divisor = mean === undefined ? refuseZero(right) : right;
  const quotient = `cast_to_type(${mean ?? `${left} / ${divisor}`}, ${type})`;
  const unit = `from_json('1e-0' || regexp_extract(typeof(${type}), ',(\\d+)', 1), '"' || typeof(${type}) || '"')`;
  const cut = `CASE WHEN abs(${quotient} * ${right}) > abs(${left}) THEN ${quotient} - sign(${quotient}) * ${unit} ELSE ${quotient} END`;
  return [
    `CASE WHEN typeof(${left} // ${right}) <> 'DOUBLE' THEN cast_to_type(${left} // ${divisor}, ${type})`,
    `WHEN typeof(${type}) = 'DOUBLE' THEN ${quotient}`,
    `ELSE cast_to_type(${cut}, ${type}) END`,
  ].join(' ');
}

export function renderRedshiftQuotient(division: Division): string {
  const { left, right, mean } = division;
  const type = renderType(division);
  if (mean === undefined && isSimple(left) && isSimple(right)) return renderBody(division, type);
  const name = pickName([left, right]);
  const fields = [`l: ${left}`, `r: ${right}`, `t: ${type}`, ...(mean === undefined ? [] : [`m: ${mean}`])];
  const bound = { left: `${name}.l`, right: `${name}.r`, mean: mean && `${name}.m` };
  const body = renderBody({ ...division, ...bound }, `${name}.t`);
  return `list_transform([{${fields.join(', ')}}], lambda ${name}: ${body})[1]`;
}
