/** Lists and searches (RFC 7644 §3.4.2, §3.4.3). */
import { scimPageDefault, scimPageLimit, scimUrns } from '@headgate/contract';
import type { ReadCall } from '../../../kernel/endpoint/endpoint.ts';
import { createOwnerTurns } from '../../../kernel/http/owner-turns.ts';
import { problem } from '../../../kernel/http/problems.ts';
import { groupSchema } from '../schema/group-schema.ts';
import { type Filter, parseFilter } from '../schema/scim-filter.ts';
import { isReturned, projectResource, readProjection } from '../schema/scim-projection.ts';
import { requireSchema } from '../schema/scim-resource.ts';
import { createValueProblem, type Fields, findMember } from '../schema/scim-value.ts';
import { userSchema } from '../schema/user-schema.ts';
import { groupSql, userSql } from './resource-sql.ts';
import { SqlParameters, type SqlResource, translateFilter, translateSort } from './scim-filter-sql.ts';
import { searchGroups } from './scim-group.store.ts';
import { presentUser, renderGroup } from './scim-present.ts';
import { type Search, searchUsers, type UserRow } from './scim-user.store.ts';

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

export interface Found {
  total: number;
  /** As JSON text. */
  resources: string[];
}

/** Searches of one account that run at once. Others wait: a long filter holds a connection of the database. */
const searchBounds = { running: 2, waiting: 50 };

export interface Searches {
  /** Throws `overloaded` if too many searches of the account wait. */
  findUsers(call: SearchCall, request: SearchRequest): Promise<Found>;
  findGroups(call: SearchCall, request: SearchRequest): Promise<Found>;
}

export function createSearches(base: string): Searches {
  const turns = createOwnerTurns(searchBounds, () => problem('overloaded'));
  return {
    async findUsers({ page, scope }, request) {
      const search = toSql(userSql, request);
      const projection = readProjection(userSchema, request.attributes, request.excludedAttributes);
      const query = searchUsers(search, isReturned(projection, 'groups'));
      const { rows, total } = await turns.run(scope.accountId, () =>
        (page as AnyPage)(query, {
          ...search.parameters.values,
          limit: request.count,
          offset: request.offset,
        }),
      );
      const present = (row: UserRow) => JSON.stringify(projectResource(projection, presentUser(base, row)));
      return { total, resources: rows.map(present) };
    },
    async findGroups({ page, scope }, request) {
      const search = toSql(groupSql, request);
      const projection = readProjection(groupSchema, request.attributes, request.excludedAttributes);
      const query = searchGroups(search, isReturned(projection, 'members'));
      const { rows, total } = await turns.run(scope.accountId, () =>
        (page as AnyPage)(query, {
          ...search.parameters.values,
          limit: request.count,
          offset: request.offset,
        }),
      );
      const of = { base, accountId: scope.accountId };
      return { total, resources: rows.map((row) => renderGroup(projection, of, row)) };
    },
  };
}

/** A ListResponse message as JSON text. */
export function renderList({ total, resources }: Found, startIndex: number): string {
  const head = JSON.stringify({
    schemas: [scimUrns.list],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
  });
  return `${head.slice(0, -1)},"Resources":[${resources.join(',')}]}`;
}
