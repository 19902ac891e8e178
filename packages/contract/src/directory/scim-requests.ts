/** What the operations of SCIM on users and on groups share. */
import { type TSchema, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { ifMatchHeader, OpaqueId } from '../primitives.ts';
import type { ProblemCode } from '../problem.ts';
import {
  ScimPatch,
  ScimSchemas,
  ScimSearch,
  scimListQuery,
  scimMediaType,
  scimPageLimit,
  scimProjectionQuery,
  scimWriteQuery,
} from './directory.ts';

/** A list of resources (RFC 7644 §3.4.2). */
export function scimList<const Item extends TSchema>(name: string, item: Item) {
  return named(
    name,
    Type.Object({
      schemas: ScimSchemas,
      totalResults: Type.Integer({ minimum: 0 }),
      startIndex: Type.Integer({ minimum: 1 }),
      itemsPerPage: Type.Integer({ minimum: 0 }),
      Resources: Type.Array(item, { maxItems: scimPageLimit }),
    }),
  );
}

export const scimOperation = { surface: 'dpc', tag: 'Directory', permission: 'directory:manage' } as const;

const searchProblems = [
  'invalid-filter',
  'invalid-attribute-value',
] as const satisfies readonly ProblemCode[];
const params = Type.Object({ id: OpaqueId });
const query = Type.Object(scimWriteQuery);
const headers = ifMatchHeader;

export const scimRequests = {
  list: {
    ...scimOperation,
    method: 'GET',
    query: Type.Object(scimListQuery),
    problems: searchProblems,
    events: [],
  },
  search: {
    ...scimOperation,
    method: 'POST',
    body: ScimSearch,
    problems: [...searchProblems, 'invalid-scim-message'],
    events: [],
    withoutEvent: 'it only reads',
  },
  create: { ...scimOperation, method: 'POST', query },
  get: { ...scimOperation, method: 'GET', params, query: Type.Object(scimProjectionQuery), events: [] },
  replace: { ...scimOperation, method: 'PUT', params, query, headers },
  patch: { ...scimOperation, method: 'PATCH', params, query, headers, body: ScimPatch },
  delete: {
    ...scimOperation,
    method: 'DELETE',
    params,
    query,
    headers,
    success: { status: 204, mediaType: scimMediaType },
  },
} as const;

/** What a PATCH can meet beside the problems of any write. */
export const scimPatchProblems = [
  'invalid-attribute-path',
  'invalid-filter',
  'no-patch-target',
  'immutable-attribute',
  'too-many-operations',
] as const satisfies readonly ProblemCode[];
