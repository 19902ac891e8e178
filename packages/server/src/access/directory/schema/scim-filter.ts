/** Reads SCIM filters (RFC 7644 §3.4.2.2), with bounds on their length and depth, and tests values with them. */
import { type Filter, parse } from 'scim2-parse-filter';
import { problem } from '../../../kernel/http/problems.ts';
import { type Attribute, findAttribute } from './scim-attribute.ts';

export type { Filter } from 'scim2-parse-filter';

const lengthLimit = 8_000;
/** The parser and the translation to SQL are recursive. */
const depthLimit = 50;
/** Each comparison is a condition of the statement. */
const comparisonLimit = 200;

/** A quoted value. One without an end goes on to the end of the text, so that it is read only once. */
const quotation = /"(?:[^"\\]|\\[\s\S])*"?/g;

/** Throws `invalid-filter`. */
export function parseFilter(text: string): Filter {
  if (text.length > lengthLimit)
    throw createFilterProblem(`it has ${text.length} characters; at most ${lengthLimit} are allowed.`);
  const outside = text.replaceAll(quotation, (quoted) => {
    // The parser takes exponential time for these.
    if (!/^"(?:[^"\\\n]|\\[^\n])*"$/.test(quoted))
      throw createFilterProblem(
        `a value has no quotation mark at its end, or a line break: ${quoted.slice(0, 200)}`,
      );
    return '""';
  });
  if (measureDepth(outside) > depthLimit)
    throw createFilterProblem(`it is nested deeper than ${depthLimit} levels.`);
  // The parser reads no `$`; an attribute `$ref` is found by `ref` too.
  const readable = text.replaceAll(
    /("(?:[^"\\]|\\[\s\S])*"?)|\$ref\b/gi,
    (_, quoted?: string) => quoted ?? 'ref',
  );
  let parsed: Filter;
  try {
    parsed = parse(readable);
  } catch (failure) {
    throw createFilterProblem(`${describeFailure(failure)} in ${JSON.stringify(text.slice(0, 200))}.`);
  }
  const joined = /\]\s*\./.test(outside) ? joinValuePaths(parsed) : parsed;
  if (countComparisons(joined) > comparisonLimit)
    throw createFilterProblem(`it has more than ${comparisonLimit} comparisons.`);
  return joined;
}

export function createFilterProblem(reason: string) {
  return problem('invalid-filter', { reason });
}

function describeFailure(failure: unknown): string {
  const message = failure instanceof Error ? failure.message : '';
  return message === '' ? 'a part cannot be read' : message.slice(0, 200);
}

function measureDepth(text: string): number {
  let depth = 0;
  let most = 0;
  for (const [token] of text.matchAll(/[[\]()]|\bnot\b/gi)) {
    // `not` can follow `not` without parentheses.
    if (token === '(' || token === '[' || token.length === 3) depth += 1;
    else depth -= 1;
    most = Math.max(most, depth);
  }
  return most;
}

export function countComparisons(filter: Filter): number {
  switch (filter.op) {
    case 'and':
    case 'or':
      return (filter as { filters: Filter[] }).filters.reduce((sum, each) => sum + countComparisons(each), 0);
    case 'not':
      return countComparisons((filter as { filter: Filter }).filter);
    case '[]':
      return countComparisons((filter as { valFilter: Filter }).valFilter);
    default:
      return 1;
  }
}

/**
 * `emails[type eq "work"].value eq "x"`: the parser returns two conditions, which two different values could
 * meet. Joins them, so that one value must meet both.
 */
function joinValuePaths(filter: Filter): Filter {
  const each = splitFilter(filter);
  if (each.kind === 'not') return { op: 'not', filter: joinValuePaths(each.filter) };
  if (each.kind !== 'and' && each.kind !== 'or') return filter;
  const filters = each.filters.map(joinValuePaths);
  const [first, second] = filters;
  if (each.kind === 'and' && filters.length === 2 && first?.op === '[]' && second !== undefined) {
    const { attrPath, valFilter } = first as { attrPath: string; valFilter: Filter };
    const other = splitFilter(second);
    const prefix = `${attrPath}.`;
    if (other.kind === 'compare' && other.path.startsWith(prefix)) {
      const inner = { ...second, attrPath: other.path.slice(prefix.length) } as Filter;
      return { op: '[]', attrPath, valFilter: { op: 'and', filters: [valFilter, inner] } };
    }
  }
  return { op: each.kind, filters };
}

export type Comparator = 'eq' | 'ne' | 'co' | 'sw' | 'ew' | 'gt' | 'lt' | 'ge' | 'le' | 'pr';
export type Compared = string | number | boolean | null;

type SplitFilter =
  | { kind: 'and'; filters: Filter[] }
  | { kind: 'or'; filters: Filter[] }
  | { kind: 'not'; filter: Filter }
  | { kind: 'values'; path: string; filter: Filter }
  | { kind: 'compare'; path: string; op: Comparator; value: Compared };

/** A filter as a discriminated union: the types of the parser are not one. */
export function splitFilter(filter: Filter): SplitFilter {
  const parsed = filter as {
    op: string;
    filters: Filter[];
    filter: Filter;
    attrPath: string;
    valFilter: Filter;
    compValue?: Compared;
  };
  switch (parsed.op) {
    case 'and':
    case 'or':
      return { kind: parsed.op, filters: parsed.filters };
    case 'not':
      return { kind: 'not', filter: parsed.filter };
    case '[]':
      return { kind: 'values', path: parsed.attrPath, filter: parsed.valFilter };
    default:
      return {
        kind: 'compare',
        path: parsed.attrPath,
        op: parsed.op as Comparator,
        value: parsed.compValue ?? null,
      };
  }
}

/** `"True"`, as some clients send it, is a boolean where the schema says so. */
export function readBoolean(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') return undefined;
  const word = value.trim().toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : undefined;
}

/**
 * Whether one value of a multi-valued attribute matches the filter in brackets. Throws `invalid-filter` for
 * an unknown sub-attribute.
 */
export function matchesValue(
  attribute: Attribute,
  filter: Filter,
  value: Readonly<Record<string, unknown>>,
): boolean {
  const each = splitFilter(filter);
  switch (each.kind) {
    case 'and':
      return each.filters.map((one) => matchesValue(attribute, one, value)).every(Boolean);
    case 'or':
      return each.filters.map((one) => matchesValue(attribute, one, value)).some(Boolean);
    case 'not':
      return !matchesValue(attribute, each.filter, value);
    case 'values':
      throw createFilterProblem(`${each.path} has no values of its own.`);
    case 'compare': {
      const sub = findAttribute(attribute.subAttributes, each.path);
      if (sub === undefined) throw createFilterProblem(`${attribute.name} has no attribute ${each.path}.`);
      return compareValue(sub, each.op, value[sub.name], each.value);
    }
  }
}

function compareValue(sub: Attribute, op: Comparator, found: unknown, expected: Compared): boolean {
  const isThere = found !== undefined && found !== null && found !== '';
  if (op === 'pr') return isThere;
  if (expected === null) return op === 'eq' ? !isThere : op === 'ne' ? isThere : false;
  if (sub.type === 'boolean') {
    const same = (readBoolean(found) ?? false) === (readBoolean(expected) ?? expected);
    return op === 'eq' ? same : op === 'ne' ? !same : false;
  }
  const fold = (text: unknown) => (sub.caseExact ? String(text) : String(text).toLowerCase());
  const [one, other] = [isThere ? fold(found) : '', fold(expected)];
  switch (op) {
    case 'eq':
      return one === other;
    case 'ne':
      return one !== other;
    case 'co':
      return isThere && one.includes(other);
    case 'sw':
      return isThere && one.startsWith(other);
    case 'ew':
      return isThere && one.endsWith(other);
    case 'gt':
      return isThere && one > other;
    case 'ge':
      return isThere && one >= other;
    case 'lt':
      return isThere && one < other;
    case 'le':
      return isThere && one <= other;
  }
}
