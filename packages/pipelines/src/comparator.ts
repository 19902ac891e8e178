/** The comparators of filters, simple conditions and row counts: as SQL, and on values. */
import { cellText, ParameterError } from './parameters.ts';
import type { Resolved } from './resolve.ts';
import type { Dialect } from './sql/dialect.ts';
import type { Scalar } from './variables.ts';

type Operator = '=' | '<>' | '>' | '<' | '>=' | '<=';
type Comparator = Operator | 'like' | 'null' | 'blank' | 'in' | 'between';

const comparators: Readonly<Record<string, Comparator>> = {
  'equal to': '=',
  'not equal to': '<>',
  'greater than': '>',
  'less than': '<',
  'greater than or equal to': '>=',
  'less than or equal to': '<=',
  like: 'like',
  null: 'null',
  blank: 'blank',
  in: 'in',
  between: 'between',
};

export interface Condition {
  readonly subject: string;
  readonly negated: boolean;
  readonly comparator: Comparator;
  readonly operand: string;
}

/** A row `[subject, Is or Not, comparator, value]`. @throws ParameterError */
export function readCondition(row: readonly Resolved[]): Condition {
  const subject = cellText(row, 0);
  const qualifier = cellText(row, 1).trim().toLowerCase();
  if (qualifier !== 'is' && qualifier !== 'not' && qualifier !== 'is not') {
    throw new ParameterError(
      `the condition on "${subject}" says "${cellText(row, 1)}"; it can say Is or Not`,
    );
  }
  return {
    subject,
    negated: qualifier !== 'is',
    comparator: readComparator(cellText(row, 2)),
    operand: cellText(row, 3),
  };
}

/** @throws ParameterError naming the comparators that there are */
export function readComparator(word: string): Comparator {
  const wanted = word.trim().toLowerCase();
  const found = Object.hasOwn(comparators, wanted) ? comparators[wanted] : undefined;
  if (found === undefined) {
    throw new ParameterError(`"${word}" is no comparator; there are ${Object.keys(comparators).join(', ')}`);
  }
  return found;
}

/** A comparator that orders two numbers, as for row counts. @throws ParameterError */
export function compareNumbers(word: string, left: number, right: number): boolean {
  const comparator = readComparator(word);
  if (!isOperator(comparator)) throw new ParameterError(`"${word}" does not compare two numbers`);
  return compares(left - right, comparator);
}

function isOperator(comparator: Comparator): comparator is Operator {
  return ['=', '<>', '>', '<', '>=', '<='].includes(comparator);
}

function compares(difference: number, operator: Operator): boolean {
  if (operator === '=') return difference === 0;
  if (operator === '<>') return difference !== 0;
  if (operator === '>') return difference > 0;
  if (operator === '<') return difference < 0;
  return operator === '>=' ? difference >= 0 : difference <= 0;
}

/** The items of `In`: `a, b` or `'a', 'b'`. A comma inside quotes parts nothing. */
function listItems(operand: string): string[] {
  const items = operand.match(/\s*(?:'(?:[^']|'')*'|[^,]*)\s*(?:,|$)/g) ?? [];
  return items
    .map((item) => unquote(item.replace(/,$/, '').trim()))
    .filter((item, index) => item !== '' || index < items.length - 1);
}

function unquote(text: string): string {
  return /^'.*'$/s.test(text) ? text.slice(1, -1).replaceAll("''", "'") : text;
}

/** The two ends of `Between`: `1 and 5` or `1, 5`. */
function rangeEnds(condition: Condition): [string, string] {
  const byWord = condition.operand.split(/\s+and\s+/i);
  const ends = (byWord.length === 2 ? byWord : listItems(condition.operand)).map((end) =>
    unquote(end.trim()),
  );
  const [from, to] = ends;
  if (ends.length !== 2 || from === undefined || to === undefined) {
    throw new ParameterError(
      `"Between" on "${condition.subject}" needs two values, as in "1 and 5", not "${condition.operand}"`,
    );
  }
  return [from, to];
}

/** The condition on a column as SQL; the operand is always a literal. */
export function conditionSql(condition: Condition, dialect: Dialect): string {
  const column = dialect.name(condition.subject);
  const positive = positiveSql(condition, column, dialect);
  return condition.negated ? `NOT (${positive})` : positive;
}

function positiveSql(condition: Condition, column: string, dialect: Dialect): string {
  const { comparator, operand } = condition;
  if (comparator === 'null') return `${column} IS NULL`;
  if (comparator === 'blank') return `trim(CAST(${column} AS VARCHAR)) = ''`;
  if (comparator === 'like') return `CAST(${column} AS VARCHAR) LIKE ${dialect.literal(operand)}`;
  if (comparator === 'in') {
    const items = listItems(operand);
    if (items.length === 0)
      throw new ParameterError(`"In" on "${condition.subject}" needs a list of values, as in "a, b"`);
    return `${column} IN (${items.map((item) => dialect.literal(item)).join(', ')})`;
  }
  if (comparator === 'between') {
    const [from, to] = rangeEnds(condition);
    return `${column} BETWEEN ${dialect.literal(from)} AND ${dialect.literal(to)}`;
  }
  return `${column} ${comparator} ${dialect.literal(operand)}`;
}

/** All or any of several conditions; `TRUE` when there are none. */
export function conditionsSql(
  rows: readonly (readonly Resolved[])[],
  combine: 'AND' | 'OR',
  dialect: Dialect,
): string {
  if (rows.length === 0) return 'TRUE';
  return rows.map((row) => conditionSql(readCondition(row), dialect)).join(`\n  ${combine} `);
}

/** The condition on a variable's value: numbers by size when both sides are numbers, else texts. */
export function conditionHolds(condition: Condition, value: Scalar): boolean {
  return positiveHolds(condition, value) !== condition.negated;
}

/** For a condition on a NUMBER variable, whose values would be compared as texts. @throws ParameterError */
export function requireNumbers(condition: Condition): void {
  for (const operand of numbersOf(condition)) {
    if (isNumber(operand)) continue;
    throw new ParameterError(
      `the variable "${condition.subject}" is NUMBER, and "${operand}" is no number: write digits only, as in 1000`,
    );
  }
}

function numbersOf(condition: Condition): string[] {
  const { comparator, operand } = condition;
  if (comparator === 'null' || comparator === 'blank' || comparator === 'like') return [];
  if (comparator === 'in') return listItems(operand);
  return comparator === 'between' ? rangeEnds(condition) : [operand];
}

function isNumber(text: string): boolean {
  return text.trim() !== '' && Number.isFinite(Number(text));
}

function positiveHolds(condition: Condition, value: Scalar): boolean {
  const { comparator, operand } = condition;
  if (comparator === 'null') return value === null;
  if (comparator === 'blank') return value === null || String(value).trim() === '';
  if (value === null) return false;
  if (comparator === 'like') return like(String(value), operand);
  if (comparator === 'in') return listItems(operand).some((item) => difference(value, item) === 0);
  if (comparator === 'between') {
    const [from, to] = rangeEnds(condition);
    return difference(value, from) >= 0 && difference(value, to) <= 0;
  }
  return compares(difference(value, operand), comparator);
}

function difference(value: string | number, operand: string): number {
  if (typeof value === 'number' && isNumber(operand)) return value - Number(operand);
  const text = String(value);
  if (text === operand) return 0;
  return text < operand ? -1 : 1;
}

/** SQL's LIKE (`%` any text, `_` one character), in time proportional to both lengths multiplied. */
function like(text: string, pattern: string): boolean {
  let at = 0;
  let patternAt = 0;
  let star = -1;
  let resume = 0;
  while (at < text.length) {
    if (pattern[patternAt] === '%') {
      star = patternAt;
      patternAt += 1;
      resume = at;
    } else if (
      patternAt < pattern.length &&
      (pattern[patternAt] === '_' || pattern[patternAt] === text[at])
    ) {
      patternAt += 1;
      at += 1;
    } else if (star >= 0) {
      patternAt = star + 1;
      resume += 1;
      at = resume;
    } else return false;
  }
  return /^%*$/.test(pattern.slice(patternAt));
}
