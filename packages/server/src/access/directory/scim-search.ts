/** Lists and searches (RFC 7644 §3.4.2, §3.4.3). */
import { type ScimGroup, type ScimUser, scimPageDefault, scimPageLimit, scimUrns } from '@headgate/contract';
import type { ReadCall } from '../../kernel/endpoint/endpoint.ts';
import { groupSchema } from './group-schema.ts';
import { groupSql, userSql } from './resource-sql.ts';
import { type Filter, parseFilter } from './scim-filter.ts';
import { SqlParameters, type SqlResource, translateFilter, translateSort } from './scim-filter-sql.ts';
import { searchGroups } from './scim-group.store.ts';
import { presentGroup, presentUser } from './scim-present.ts';
import { isReturned, projectResource, readProjection } from './scim-projection.ts';
import { requireSchema } from './scim-resource.ts';
import { type Search, searchUsers } from './scim-user.store.ts';
import { createValueProblem, type Fields, findMember } from './scim-value.ts';
import { userSchema } from './user-schema.ts';

export interface SearchRequest {
  filter: Filter | undefined;
  sortBy: string | undefined;
  isDescending: boolean;
  /** From 0. */
  offset: number;
  count: number;
  attributes: unknown;
  excludedAttributes: unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: the parameters of a filter are known only at run time
type AnyPage = (query: any, parameters: any) => Promise<{ rows: any[]; total: number }>;
type SearchCall = Pick<ReadCall<never>, 'scope'> & { page: unknown };

/** Reads the query of a list. Throws `invalid-filter` and `invalid-attribute-value`. */
export function readSearch(query: Fields): SearchRequest {
  const text = readOptionalText(query, 'filter');
  const sortOrder = readOptionalText(query, 'sortOrder')?.toLowerCase();
  if (sortOrder !== undefined && sortOrder !== 'ascending' && sortOrder !== 'descending')
    throw createValueProblem(
      `sortOrder is ${JSON.stringify(sortOrder)}; it must be ascending or descending.`,
    );
  return {
    filter: text === undefined ? undefined : parseFilter(text),
    sortBy: readOptionalText(query, 'sortBy'),
    isDescending: sortOrder === 'descending',
    offset: Math.max(readInteger(query, 'startIndex') ?? 1, 1) - 1,
    count: Math.min(Math.max(readInteger(query, 'count') ?? scimPageDefault, 0), scimPageLimit),
    attributes: query.attributes,
    excludedAttributes: query.excludedAttributes,
  };
}

/** The same of a SearchRequest message, whose names can be in any case. */
export function readSearchMessage(body: Fields): SearchRequest {
  requireSchema(body, scimUrns.search);
  const names = ['filter', 'sortBy', 'sortOrder', 'startIndex', 'count', 'attributes', 'excludedAttributes'];
  return readSearch(Object.fromEntries(names.map((name) => [name, findMember(body, name) ?? undefined])));
}

function readOptionalText(query: Fields, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || (typeof value === 'string' && value.trim() === '')) return undefined;
  if (typeof value !== 'string') throw createValueProblem(`${name} must be text.`);
  return value;
}

function readInteger(query: Fields, name: string): number | undefined {
  const value = query[name];
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  if (number === undefined) return undefined;
  if (typeof number !== 'number' || !Number.isInteger(number))
    throw createValueProblem(`${name} is ${JSON.stringify(value)?.slice(0, 100)}; it must be an integer.`);
  return Math.min(number, 10_000_000);
}

function toSql(resource: SqlResource, { filter, sortBy, isDescending }: SearchRequest): Search {
  const parameters = new SqlParameters();
  const condition = filter && translateFilter(resource, filter, parameters);
  const order = sortBy === undefined ? undefined : translateSort(resource, sortBy);
  if (sortBy !== undefined && order === undefined)
    throw createValueProblem(
      `sortBy is ${JSON.stringify(sortBy.slice(0, 200))}; ${resource.schema.type} has no such attribute.`,
    );
  return { condition, order: order && `${order} ${isDescending ? 'desc' : 'asc'}`, parameters };
}

export interface Found<Shown> {
  total: number;
  resources: Shown[];
}

export async function findUsers(
  { page }: SearchCall,
  base: string,
  request: SearchRequest,
): Promise<Found<ScimUser>> {
  const search = toSql(userSql, request);
  const projection = readProjection(userSchema, request.attributes, request.excludedAttributes);
  const { rows, total } = await (page as AnyPage)(searchUsers(search), {
    ...search.parameters.values,
    with_groups: isReturned(projection, 'groups'),
    limit: request.count,
    offset: request.offset,
  });
  return { total, resources: rows.map((row) => projectResource(projection, presentUser(base, row))) };
}

export async function findGroups(
  { page, scope }: SearchCall,
  base: string,
  request: SearchRequest,
): Promise<Found<ScimGroup>> {
  const search = toSql(groupSql, request);
  const projection = readProjection(groupSchema, request.attributes, request.excludedAttributes);
  const { rows, total } = await (page as AnyPage)(searchGroups(search), {
    ...search.parameters.values,
    with_members: isReturned(projection, 'members'),
    limit: request.count,
    offset: request.offset,
  });
  const present = (row: Parameters<typeof presentGroup>[2]) => presentGroup(base, scope.accountId, row);
  return { total, resources: rows.map((row) => projectResource(projection, present(row))) };
}

export function renderList<Shown>({ total, resources }: Found<Shown>, startIndex: number) {
  return {
    schemas: [scimUrns.list],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}
