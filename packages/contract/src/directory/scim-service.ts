/** What SCIM says of itself (RFC 7644 §4), searches over all resources (§3.4.3), and Bulk (§3.7). */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { Name, OpaqueId } from '../primitives.ts';
import { directoryWriteEvents } from './directory.outcomes.ts';
import {
  bulkOperationLimit,
  ScimSchemas,
  ScimText,
  scimBase,
  scimMediaType,
  scimMessage,
  scimWriteQuery,
} from './directory.ts';
import { scimList, scimOperation, scimRequests } from './scim-requests.ts';

const open = { type: 'object', additionalProperties: true } as const;

const ScimDescription = named('ScimDescription', Type.Unsafe<object>({ ...open }));
const ScimDescriptionList = scimList('ScimDescriptionList', Type.Unsafe<object>({ ...open }));
const described = { status: 200, body: ScimDescription, mediaType: scimMediaType } as const;
const listed = { status: 200, body: ScimDescriptionList, mediaType: scimMediaType } as const;
const byId = Type.Object({ id: OpaqueId });

export const getScimServiceProviderConfig = operation({
  ...scimOperation,
  id: 'getScimServiceProviderConfig',
  method: 'GET',
  path: `${scimBase}/ServiceProviderConfig`,
  summary: 'Get the capabilities of the SCIM service',
  success: described,
  problems: [],
  events: [],
});

export const listScimResourceTypes = operation({
  ...scimOperation,
  id: 'listScimResourceTypes',
  method: 'GET',
  path: `${scimBase}/ResourceTypes`,
  summary: 'List the SCIM resource types',
  success: listed,
  problems: [],
  events: [],
});

export const getScimResourceType = operation({
  ...scimOperation,
  id: 'getScimResourceType',
  method: 'GET',
  path: `${scimBase}/ResourceTypes/{id}`,
  summary: 'Get a SCIM resource type',
  params: byId,
  success: described,
  problems: ['scim-description-not-found'],
  events: [],
});

export const listScimSchemas = operation({
  ...scimOperation,
  id: 'listScimSchemas',
  method: 'GET',
  path: `${scimBase}/Schemas`,
  summary: 'List the SCIM schemas',
  success: listed,
  problems: [],
  events: [],
});

export const getScimSchema = operation({
  ...scimOperation,
  id: 'getScimSchema',
  method: 'GET',
  path: `${scimBase}/Schemas/{id}`,
  summary: 'Get a SCIM schema',
  params: byId,
  success: described,
  problems: ['scim-description-not-found'],
  events: [],
});

export const searchScim = operation({
  ...scimRequests.search,
  id: 'searchScim',
  path: `${scimBase}/.search`,
  summary: 'Search users and groups',
  description: 'Users come before groups. Attributes that one of the two does not have match nothing there.',
  success: listed,
});

const ScimBulk = scimMessage(
  'ScimBulk',
  'A BulkRequest message (RFC 7644 §3.7): `failOnErrors`, and `Operations` of `method`, `path`, `bulkId`, `version` and `data`.',
);
const ScimBulkResult = named(
  'ScimBulkResult',
  Type.Object({
    schemas: ScimSchemas,
    Operations: Type.Array(
      Type.Object({
        method: Name,
        bulkId: Type.Optional(ScimText),
        version: Type.Optional(Name),
        location: Type.Optional(ScimText),
        status: Type.String({ maxLength: 3 }),
        response: Type.Optional(Type.Unsafe<object>({ ...open })),
      }),
      { maxItems: bulkOperationLimit },
    ),
  }),
);
export type ScimBulkResult = Static<typeof ScimBulkResult>;

export const bulkScim = operation({
  ...scimOperation,
  id: 'bulkScim',
  method: 'POST',
  path: `${scimBase}/Bulk`,
  summary: 'Write many users and groups',
  description:
    'Each operation is carried out by itself: one that fails changes nothing, and the others are not affected. All are committed together.',
  query: Type.Object(scimWriteQuery),
  body: ScimBulk,
  success: { status: 200, body: ScimBulkResult, mediaType: scimMediaType },
  problems: ['invalid-scim-message', 'bulk-too-large'],
  events: directoryWriteEvents,
});

export const scimServiceOperations = [
  getScimServiceProviderConfig,
  listScimResourceTypes,
  getScimResourceType,
  listScimSchemas,
  getScimSchema,
  searchScim,
  bulkScim,
] as const;
