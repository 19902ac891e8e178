/** Conditions on columns as SQL. */

import { ParameterError } from '../../expressions/parameters.ts';
import type { Resolved } from '../../expressions/resolve.ts';
import type { Dialect } from '../../sql/dialect/dialect.ts';
import { type Condition, isOperator, readCondition, splitList, splitRange } from './comparator.ts';
import type { Source } from './component.ts';
import { type Operand, readOperand, readSubquery } from './operand.ts';
import { wrapUserExpression } from './plan-parts.ts';

/** @param columns columns whose bare name may be a value; none if it is undefined */
export function renderCondition(
  condition: Condition,
  dialect: Dialect,
  columns?: readonly string[] | undefined,
): string {
  const positive = renderPositive(condition, dialect, columns);
  return condition.negated ? `NOT (${positive})` : positive;
}

/** Several conditions joined by AND or OR; `TRUE` if there are none. */
export function renderConditions(
  rows: readonly (readonly Resolved[])[],
  combine: 'AND' | 'OR',
  dialect: Dialect,
  source?: ComparedSource,
): string {
  if (rows.length === 0) return 'TRUE';
  const conditions = rows.map((row) => readCondition(row));
  return conditions
    .map((condition) => renderCondition(condition, dialect, source && listComparable(condition, source)))
    .join(`\n  ${combine} `);
}

/** The source of a filter. The warehouse tells the types that `renderTypeQuery` asks for. */
export interface ComparedSource {
  readonly columns: readonly string[] | undefined;
  readonly types: ReadonlyMap<string, string>;
}

/** With a text, the name of another column is only a text. */
export function listComparable(
  { subject }: Condition,
  { columns, types }: ComparedSource,
): readonly string[] | undefined {
  return types.get(subject.toLowerCase()) === 'VARCHAR' ? undefined : columns;
}

/** A query of the types of columns whose value is the name of another column. Undefined if there are none. */
export function renderTypeQuery(
  rows: readonly (readonly Resolved[])[],
  source: Source,
  dialect: Dialect,
): string | undefined {
  const subjects = rows.flatMap((row) => {
    const condition = readCondition(row);
    return listOperands(condition).some((each) => isColumn(each, condition, source, dialect))
      ? [condition.subject]
      : [];
  });
  if (subjects.length === 0) return undefined;
  return dialect.columnTypes(source.name, [...new Set(subjects)]);
}

function listOperands(condition: Condition): string[] {
  if (condition.comparator === 'between') return splitRange(condition);
  return isOperator(condition.comparator) ? [condition.operand] : [];
}

function isColumn(operand: string, { subject }: Condition, { columns }: Source, { user }: Dialect): boolean {
  return readOperand(operand, subject, columns, user.lexical).kind === 'column';
}

/** The rows of `renderTypeQuery`. */
export function readTypes(found: readonly (readonly unknown[])[] = []): Map<string, string> {
  return new Map(found.map(([column, type]) => [String(column).toLowerCase(), String(type)]));
}

function renderPositive(
  condition: Condition,
  dialect: Dialect,
  columns: readonly string[] | undefined,
): string {
  const { comparator, operand, subject } = condition;
  const column = dialect.name(subject);
  const text = `CAST(${column} AS ${dialect.text})`;
  if (comparator === 'null') return `${column} IS NULL`;
  if (comparator === 'blank') return `trim(${text}) = ''`;
  if (comparator === 'null or blank') return `(${column} IS NULL OR trim(${text}) = '')`;
  if (comparator === 'in') return renderIn(condition, dialect);
  const read = (written: string) => readOperand(written, subject, columns, dialect.user.lexical);
  if (comparator === 'between') {
    const [from, to] = splitRange(condition).map(read) as [Operand, Operand];
    return `(${renderComparison(column, '>=', from, dialect)} AND ${renderComparison(column, '<=', to, dialect)})`;
  }
  if (isOperator(comparator)) return renderComparison(column, comparator, read(operand), dialect);
  const input = read(operand);
  // A column of this name is rarely meant as a pattern.
  const pattern =
    input.kind === 'expression'
      ? wrapUserExpression(input.text, dialect)
      : dialect.literal(input.kind === 'column' ? operand : input.text);
  if (comparator !== 'similar') return dialect.matchText(comparator, text, pattern);
  if (input.kind === 'expression')
    throw new ParameterError(
      `"Similar to" on "${subject}" needs a pattern, as in "%(a|b)%", not an expression`,
    );
  return dialect.matchSimilar(text, input.text);
}

function renderIn({ subject, operand }: Condition, dialect: Dialect): string {
  const column = dialect.name(subject);
  const query = readSubquery(operand, dialect.user.lexical);
  if (query !== undefined) return `${column} IN (${dialect.user.query(query).sql})`;
  const items = splitList(operand);
  if (items.length === 0)
    throw new ParameterError(`"In" on "${subject}" needs a list of values, as in "a, b"`);
  if (!items.some((item) => isFraction(item)))
    return `${column} IN (${items.map((item) => dialect.literal(item)).join(', ')})`;
  const each = items.map((text) => renderComparison(column, '=', { kind: 'literal', text }, dialect));
  return `(${each.join(' OR ')})`;
}

/**
 * Whether a fraction is compared as a number or as a text depends on the column's type. The warehouse
 * evaluates `typeof` before the query runs, so only one branch is left.
 */
function renderComparison(column: string, operator: string, operand: Operand, dialect: Dialect): string {
  const { kind, text } = operand;
  if (kind === 'expression') return `${column} ${operator} ${wrapUserExpression(text, dialect)}`;
  if (kind === 'column') return `${column} ${operator} ${dialect.name(text)}`;
  const literal = dialect.literal(text);
  // The warehouse would round the text 1.5 to 2 before it compares it with a whole number.
  if (!isFraction(text)) return `${column} ${operator} ${literal}`;
  return dialect.compareFraction(column, operator, text);
}

function isFraction(text: string): boolean {
  return /^\s*[-+]?(?:\d{1,30}\.\d{0,30}|\.\d{1,30})\s*$/.test(text);
}
