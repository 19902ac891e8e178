/** The directory by SCIM 2.0 (RFC 7643, RFC 7644): what its resources share, and the settings of the account. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, Name } from '../primitives.ts';

export const scimBase = '/v1/directory-integration/scim/v2';
export const scimMediaType = 'application/scim+json';

export const scimUrns = {
  user: 'urn:ietf:params:scim:schemas:core:2.0:User',
  enterpriseUser: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
  group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  list: 'urn:ietf:params:scim:api:messages:2.0:ListResponse',
  search: 'urn:ietf:params:scim:api:messages:2.0:SearchRequest',
  patch: 'urn:ietf:params:scim:api:messages:2.0:PatchOp',
  bulkRequest: 'urn:ietf:params:scim:api:messages:2.0:BulkRequest',
  bulkResponse: 'urn:ietf:params:scim:api:messages:2.0:BulkResponse',
  error: 'urn:ietf:params:scim:api:messages:2.0:Error',
  dryRun: 'urn:headgate:params:scim:api:messages:2.0:DryRun',
} as const;

/** Of a list (RFC 7644 §3.4.2.4). */
export const scimPageLimit = 1_000;
export const scimPageDefault = 100;
/** Of one PATCH. */
export const patchOperationLimit = 1_000;
/** Of one Bulk request (RFC 7644 §3.7). */
export const bulkOperationLimit = 1_000;
/** Of the members of a group, and of the groups of a user, in a response. */
export const scimLinkLimit = 1_000_000;
/** The longest text of an attribute. */
export const scimTextLimit = 65_536;

export const ScimText = Type.String({ maxLength: scimTextLimit });
export const ScimSchemas = Type.Array(Type.String({ maxLength: 1_000 }), { maxItems: 20 });

export const ScimMeta = named(
  'ScimMeta',
  Type.Object({
    resourceType: Name,
    created: Type.Optional(DateTime),
    lastModified: Type.Optional(DateTime),
    location: Type.String({ maxLength: 2_048 }),
    version: Type.Optional(Type.String({ maxLength: 100, description: 'The same as the ETag' })),
  }),
);
export type ScimMeta = Static<typeof ScimMeta>;

/** A message whose member names are not case-sensitive, so the server reads it by the SCIM schema. */
export function scimMessage(name: string, description: string) {
  return named(
    name,
    Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description }),
  );
}

export const ScimPatch = scimMessage(
  'ScimPatch',
  'A PatchOp message (RFC 7644 §3.5.2): `schemas`, and `Operations` of `op` (add, replace or remove), `path` and `value`.',
);

/** RFC 7644 §3.9. */
export const scimProjectionQuery = {
  attributes: Type.Optional(
    Type.String({ maxLength: 8_000, description: 'Return only these attributes, separated by commas' }),
  ),
  excludedAttributes: Type.Optional(
    Type.String({ maxLength: 8_000, description: 'Do not return these attributes, separated by commas' }),
  ),
};

/** RFC 7644 §3.4.2. */
export const scimListQuery = {
  filter: Type.Optional(
    Type.String({ maxLength: 8_000, description: 'For example `userName eq "ada@example.com"`' }),
  ),
  sortBy: Type.Optional(Type.String({ maxLength: 1_000, description: 'The attribute to sort by' })),
  sortOrder: Type.Optional(Type.String({ maxLength: 20, description: 'ascending or descending' })),
  startIndex: Type.Optional(
    Type.Integer({ maximum: 10_000_000, description: 'The first result, from 1. A smaller value means 1' }),
  ),
  count: Type.Optional(
    Type.Integer({
      maximum: 10_000_000,
      description: `The number of results, ${scimPageDefault} by default and at most ${scimPageLimit}`,
    }),
  ),
  ...scimProjectionQuery,
};

export const scimWriteQuery = {
  ...scimProjectionQuery,
  dryRun: Type.Optional(
    Type.Boolean({
      description: 'Change nothing, and return the effect on members and permissions with status 200',
    }),
  ),
  confirm: Type.Optional(
    Type.Boolean({
      description: 'Leave a group that gives a role without members, although the account protects it',
    }),
  ),
};

export const ScimSearch = scimMessage(
  'ScimSearch',
  'A SearchRequest message (RFC 7644 §3.4.3) with the members of the query of a list; `attributes` and `excludedAttributes` are arrays.',
);

const effectLimit = 1_000;
const ScimSubject = Type.Object({
  value: Name,
  display: Type.Optional(ScimText),
});
const DryRunMember = Type.Object({ group: ScimSubject, user: ScimSubject });
const DryRunPermission = Type.Object({
  user: ScimSubject,
  role: Name,
  projectId: Type.Optional(Name),
  environment: Type.Optional(Name),
});
export const ScimDryRun = named(
  'ScimDryRun',
  Type.Object({
    schemas: ScimSchemas,
    status: Type.String({ maxLength: 3, description: 'The status that the request would get' }),
    resource: Type.Optional(Type.Unsafe<object>({ type: 'object', additionalProperties: true })),
    membersAdded: Type.Array(DryRunMember, { maxItems: effectLimit }),
    membersRemoved: Type.Array(DryRunMember, { maxItems: effectLimit }),
    permissionsGained: Type.Array(DryRunPermission, { maxItems: effectLimit }),
    permissionsLost: Type.Array(DryRunPermission, { maxItems: effectLimit }),
    totals: Type.Object(
      {
        membersAdded: Type.Integer({ minimum: 0 }),
        membersRemoved: Type.Integer({ minimum: 0 }),
        permissionsGained: Type.Integer({ minimum: 0 }),
        permissionsLost: Type.Integer({ minimum: 0 }),
      },
      { description: `Exact; each list has at most ${effectLimit} items` },
    ),
  }),
);
export type ScimDryRun = Static<typeof ScimDryRun>;
export const dryRunListLimit = effectLimit;

const DirectorySettings = named(
  'DirectorySettings',
  Type.Object({
    protectRoleGroups: Type.Boolean({
      description:
        'A group that gives a role can be left without members, or deleted, only with `?confirm=true`',
    }),
  }),
);

const settings = { surface: 'dpc', tag: 'Directory', path: '/v1/directory-integration/settings' } as const;

export const getDirectorySettings = operation({
  ...settings,
  id: 'getDirectorySettings',
  method: 'GET',
  summary: 'Get the settings of the directory',
  permission: 'directory:settings',
  success: { status: 200, body: DirectorySettings },
  problems: [],
  events: [],
});

export const updateDirectorySettings = operation({
  ...settings,
  id: 'updateDirectorySettings',
  method: 'PATCH',
  summary: 'Change the settings of the directory',
  permission: 'directory:settings',
  body: Type.Object({ protectRoleGroups: Type.Optional(Type.Boolean()) }),
  success: { status: 200, body: DirectorySettings },
  problems: [],
  events: ['directory-settings-updated'],
});

export const directoryOperations = [getDirectorySettings, updateDirectorySettings] as const;
