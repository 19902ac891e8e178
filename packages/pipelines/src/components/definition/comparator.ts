/** The comparators of filters, simple conditions and row counts, and what they mean for values. */

import { ParameterError, readCellText } from '../../expressions/parameters.ts';
import type { Resolved } from '../../expressions/resolve.ts';
import type { Scalar } from '../../expressions/variables.ts';
import { unquote } from './operand.ts';

type Operator = '=' | '<>' | '>' | '<' | '>=' | '<=';
export type Comparator =
  | Operator
  | 'like'
  | 'ilike'
  | 'similar'
  | 'contains'
  | 'starts'
  | 'ends'
  | 'null'
  | 'blank'
  | 'null or blank'
  | 'in'
  | 'between';

const comparators: Readonly<Record<string, Comparator>> = {
  'equal to': '=',
  'not equal to': '<>',
  'greater than': '>',
  'less than': '<',
  'greater than or equal to': '>=',
  'less than or equal to': '<=',
  like: 'like',
  ilike: 'ilike',
  'similar to': 'similar',
  contains: 'contains',
  'starts with': 'starts',
  'ends with': 'ends',
  null: 'null',
  blank: 'blank',
  'null or blank': 'null or blank',
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
  const subject = readCellText(row, 0);
  const qualifier = readCellText(row, 1).trim().toLowerCase();
  if (qualifier !== 'is' && qualifier !== 'not' && qualifier !== 'is not') {
    throw new ParameterError(
      `the condition on "${subject}" has the qualifier "${readCellText(row, 1)}": use Is or Not`,
    );
  }
  return {
    subject,
    negated: qualifier !== 'is',
    comparator: readComparator(readCellText(row, 2)),
    operand: readCellText(row, 3),
  };
}

/** @throws ParameterError listing the known comparators */
export function readComparator(word: string): Comparator {
  const lowerWord = word.trim().toLowerCase();
  const found = Object.hasOwn(comparators, lowerWord) ? comparators[lowerWord] : undefined;
  if (found === undefined) {
    throw new ParameterError(
      `"${word}" is not a comparator: use one of ${Object.keys(comparators).join(', ')}`,
    );
  }
  return found;
}

/** Compares two numbers, such as row counts. @throws ParameterError if the comparator is not for numbers */
export function compareNumbers(word: string, left: number, right: number): boolean {
  const comparator = readComparator(word);
  if (!isOperator(comparator))
    throw new ParameterError(
      `"${word}" does not compare numbers: use a comparator such as Equal to or Greater than`,
    );
  return hasRelation(left - right, comparator);
}

export function isOperator(comparator: Comparator): comparator is Operator {
  return ['=', '<>', '>', '<', '>=', '<='].includes(comparator);
}

function hasRelation(compareValue: number, operator: Operator): boolean {
  if (operator === '=') return compareValue === 0;
  if (operator === '<>') return compareValue !== 0;
  if (operator === '>') return compareValue > 0;
  if (operator === '<') return compareValue < 0;
  return operator === '>=' ? compareValue >= 0 : compareValue <= 0;
}

/** The items of `In`: `a, b`, `'a', 'b'` or `('a', 'b')`. A comma inside quotes is part of the item. */
export function splitList(operand: string): string[] {
  const [, inner = operand] = /^\s*\((.*)\)\s*$/s.exec(operand) ?? [];
  // not SQL: a list of values
  const items = inner.match(/\s*(?:'(?:[^']|'')*'|[^,]*)\s*(?:,|$)/g) ?? [];
  return items
    .map((item) => unquote(item.replace(/,$/, '').trim()))
    .filter((item, index) => item !== '' || index < items.length - 1);
}

/** The two ends of `Between` as written: `1 and 5` or `1, 5`. @throws ParameterError */
export function splitRange(condition: Condition): [string, string] {
  const byWord = condition.operand.split(/(?<!\s)\s+and\s+/i);
  const ends = (byWord.length === 2 ? byWord : splitOnce(condition.operand)).map((end) => end.trim());
  const [from, to] = ends;
  if (ends.length !== 2 || from === undefined || to === undefined || from === '' || to === '') {
    throw new ParameterError(
      `"Between" on "${condition.subject}" needs two values, as in "1 and 5", not "${condition.operand}"`,
    );
  }
  return [from, to];
}

function splitOnce(operand: string): string[] {
  // not SQL: a list of two values
  const quoted = /^\s*('(?:[^']|'')*')\s*,(.*)$/s.exec(operand);
  return quoted === null ? operand.split(',') : quoted.slice(1);
}

/** Tests a variable's value. Compares as numbers if both sides are numbers, else as texts. */
export function isConditionMet(condition: Condition, value: Scalar): boolean {
  return isPositiveMet(condition, value) !== condition.negated;
}

/** Values that are not numbers would be compared as texts. @throws ParameterError */
export function requireNumbers(condition: Condition): void {
  for (const operand of numbersOf(condition)) {
    if (isNumber(operand)) continue;
    throw new ParameterError(
      `the variable "${condition.subject}" is NUMBER, but "${operand}" is not a number: write digits only, as in 1000`,
    );
  }
}

function numbersOf(condition: Condition): string[] {
  const { comparator, operand } = condition;
  if (comparator === 'in') return splitList(operand);
  if (comparator === 'between') return splitRange(condition).map(unquote);
  return isOperator(comparator) ? [operand] : [];
}

function isNumber(text: string): boolean {
  return text.trim() !== '' && Number.isFinite(Number(text));
}

function isPositiveMet(condition: Condition, value: Scalar): boolean {
  const { comparator, operand } = condition;
  if (comparator === 'null') return value === null;
  if (comparator === 'blank' || comparator === 'null or blank')
    return value === null || String(value).trim() === '';
  if (comparator === 'similar') {
    throw new ParameterError(
      `"Similar to" compares columns, not the variable "${condition.subject}": use Like`,
    );
  }
  if (value === null) return false;
  if (comparator === 'in') return splitList(operand).some((item) => difference(value, item) === 0);
  if (comparator === 'between') {
    const [from, to] = splitRange(condition).map(unquote);
    return difference(value, from ?? '') >= 0 && difference(value, to ?? '') <= 0;
  }
  if (isOperator(comparator)) return hasRelation(difference(value, operand), comparator);
  return isTextMatched(String(value), comparator, operand);
}

function isTextMatched(
  text: string,
  comparator: 'like' | 'ilike' | 'contains' | 'starts' | 'ends',
  operand: string,
): boolean {
  if (comparator === 'contains') return text.includes(operand);
  if (comparator === 'starts') return text.startsWith(operand);
  if (comparator === 'ends') return text.endsWith(operand);
  return comparator === 'like' ? isLike(text, operand) : isLike(text.toLowerCase(), operand.toLowerCase());
}

function difference(value: string | number, operand: string): number {
  if (typeof value === 'number' && isNumber(operand)) return value - Number(operand);
  const text = String(value);
  if (text === operand) return 0;
  return text < operand ? -1 : 1;
}

/** SQL's LIKE (`%` any text, `_` one character), in O(text × pattern) time. */
function isLike(text: string, pattern: string): boolean {
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
