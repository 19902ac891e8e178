/**
 * Translates filters and sort orders to SQL. Values are parameters; names come from the schema, never from the
 * request.
 */
import { isUuid } from '../../../kernel/identifiers.ts';
import { foldName } from '../../users/index.ts';
import { type Located, locateAttribute, type ResourceSchema } from '../schema/scim-attribute.ts';
import {
  type Comparator,
  type Compared,
  createFilterProblem,
  type Filter,
  readBoolean,
  splitFilter,
} from '../schema/scim-filter.ts';

/** How SQL gets the value of an attribute. */
export type SqlValue =
  /** `sql` is in lower case unless `exact`. */
  | { kind: 'text'; sql: string; exact?: boolean }
  /** A folded name. */
  | { kind: 'key'; sql: string }
  | { kind: 'id'; sql: string }
  | { kind: 'boolean'; sql: string }
  | { kind: 'time'; sql: string }
  /** Rows of values: `from` stands after `select … from`. */
  | { kind: 'values'; from: string; sub: (name: string) => SqlValue | undefined; main: string };

/** How SQL gets the attributes of a resource type. */
export interface SqlResource {
  schema: ResourceSchema;
  find: (located: Located) => SqlValue | undefined;
}

/** Collects the values of a filter. */
export class SqlParameters {
  readonly types: Record<string, 'text' | 'uuid' | 'boolean' | 'timestamptz'> = {};
  readonly values: Record<string, string | boolean | Date> = {};

  add(type: 'text' | 'uuid' | 'boolean' | 'timestamptz', value: string | boolean | Date): string {
    const name = `filter_${Object.keys(this.types).length}`;
    this.types[name] = type;
    this.values[name] = value;
    return `$${name}::${type}`;
  }
}

/** A condition. Throws `invalid-filter`. */
export function translateFilter(resource: SqlResource, filter: Filter, parameters: SqlParameters): string {
  const find = (path: string) => {
    const located = locateAttribute(resource.schema, path);
    const found = located && resource.find(located);
    if (found === undefined)
      throw createFilterProblem(
        `${resource.schema.type} has no attribute ${JSON.stringify(path.slice(0, 200))} to filter by.`,
      );
    return found;
  };
  return translate(filter, find, parameters);
}

function translate(filter: Filter, find: (path: string) => SqlValue, parameters: SqlParameters): string {
  const each = splitFilter(filter);
  switch (each.kind) {
    case 'and':
    case 'or':
      return `(${each.filters.map((one) => translate(one, find, parameters)).join(` ${each.kind} `)})`;
    case 'not':
      return `((${translate(each.filter, find, parameters)}) is not true)`;
    case 'values': {
      const values = find(each.path);
      if (values.kind !== 'values')
        throw createFilterProblem(`${each.path} has no values to select with [ ].`);
      const inner = translate(each.filter, (path) => findSub(values, each.path, path), parameters);
      return `exists (select from ${values.from} and (${inner}))`;
    }
    case 'compare':
      return compare(find(each.path), each, parameters);
  }
}

function findSub(values: Extract<SqlValue, { kind: 'values' }>, path: string, name: string): SqlValue {
  const found = values.sub(name);
  if (found === undefined)
    throw createFilterProblem(`${path} has no attribute ${JSON.stringify(name.slice(0, 200))}.`);
  return found;
}

interface Comparison {
  path: string;
  op: Comparator;
  value: Compared;
}

function compare(found: SqlValue, { path, op, value }: Comparison, parameters: SqlParameters): string {
  if (found.kind === 'values') {
    if (op === 'pr') return `exists (select from ${found.from})`;
    if (value === null) return `${op === 'ne' ? '' : 'not '}exists (select from ${found.from})`;
    const inner = compare(findSub(found, path, found.main), { path, op, value }, parameters);
    return `exists (select from ${found.from} and ${inner})`;
  }
  const { sql } = found;
  const isThere = found.kind === 'text' ? `coalesce(${sql}, '') <> ''` : `${sql} is not null`;
  if (op === 'pr' || (value === null && op === 'ne')) return `(${isThere})`;
  if (value === null && op === 'eq') return `(not (${isThere}))`;
  if (value === null) throw createFilterProblem(`${path} ${op} null compares nothing; use eq, ne or pr.`);
  switch (found.kind) {
    case 'boolean':
      return compareBoolean(sql, { path, op, value }, parameters);
    case 'time':
      return compareTime(sql, { path, op, value }, parameters);
    case 'id': {
      const id = String(value).toLowerCase();
      if ((op === 'eq' || op === 'ne') && !isUuid(id)) return op === 'eq' ? '(false)' : '(true)';
      if (op === 'eq' || op === 'ne')
        return `(${sql} ${op === 'eq' ? '=' : '<>'} ${parameters.add('uuid', id)})`;
      return compareText(`${sql}::text`, op, parameters.add('text', id));
    }
    case 'key':
      return compareText(sql, op, parameters.add('text', foldName(String(value))));
    case 'text': {
      const text = String(value);
      return compareText(sql, op, parameters.add('text', found.exact ? text : text.toLowerCase()));
    }
  }
}

function compareText(sql: string, op: Exclude<Comparator, 'pr'>, value: string): string {
  switch (op) {
    case 'eq':
      return `(${sql} = ${value})`;
    case 'ne':
      return `(${sql} is distinct from ${value})`;
    case 'co':
      return `(position(${value} in ${sql}) > 0)`;
    case 'sw':
      return `starts_with(${sql}, ${value})`;
    case 'ew':
      return `(right(${sql}, length(${value})) = ${value})`;
    default:
      return `(${sql} collate "C" ${signs[op]} ${value} collate "C")`;
  }
}

const signs = { gt: '>', ge: '>=', lt: '<', le: '<=' } as const;

function compareBoolean(sql: string, { path, op, value }: Comparison, parameters: SqlParameters): string {
  const operand = readBoolean(value);
  if (operand === undefined || (op !== 'eq' && op !== 'ne'))
    throw createFilterProblem(`${path} is a boolean: compare it by eq or ne with true or false.`);
  const compared = `coalesce(${sql}, false) ${op === 'eq' ? '=' : '<>'} ${parameters.add('boolean', operand)}`;
  return `(${compared})`;
}

const timeForm = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/i;

function compareTime(sql: string, { path, op, value }: Comparison, parameters: SqlParameters): string {
  const time = typeof value === 'string' && timeForm.test(value) ? new Date(value) : undefined;
  if (time === undefined || Number.isNaN(time.getTime()))
    throw createFilterProblem(
      `${path} is compared with ${JSON.stringify(value)?.slice(0, 100)}; use a date-time such as "2026-11-21T09:30:00Z".`,
    );
  const parameter = parameters.add('timestamptz', time);
  // Times are shown in milliseconds.
  const shown = `date_trunc('milliseconds', ${sql})`;
  if (op === 'eq' || op === 'ne') return `(${shown} ${op === 'eq' ? '=' : '<>'} ${parameter})`;
  if (op === 'co' || op === 'sw' || op === 'ew' || op === 'pr')
    throw createFilterProblem(`${path} is a date-time: ${op} does not apply to it.`);
  return `(${shown} ${signs[op]} ${parameter})`;
}

/** What to order by: a text or time of each resource. Undefined for an attribute that cannot be sorted by. */
export function translateSort(resource: SqlResource, sortBy: string): string | undefined {
  const located = locateAttribute(resource.schema, sortBy);
  const found = located && resource.find(located);
  if (found === undefined) return undefined;
  if (found.kind !== 'values') return found.kind === 'text' ? `${found.sql} collate "C"` : found.sql;
  const [main, primary] = [found.sub(located?.sub?.name ?? found.main), found.sub('primary')];
  if (main === undefined || main.kind === 'values') return undefined;
  const first =
    primary === undefined || primary.kind === 'values' ? '1' : `coalesce(${primary.sql}, false) desc`;
  return `(select (${main.sql})::text collate "C" from ${found.from} order by ${first} limit 1)`;
}

/** A name of the schema as a literal of SQL. A `$` would be read as a parameter. */
export function quoteName(name: string): string {
  return name.startsWith('$')
    ? `(chr(36) || ${quoteName(name.slice(1))})`
    : `'${name.replaceAll("'", "''")}'`;
}
