/** Groups by SCIM: interface.md Directory integration, E25; RFC 7643 §4.2. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { ifMatchHeader, Name, OpaqueId } from '../primitives.ts';
import type { ProblemCode } from '../problem.ts';
import {
  ScimMeta,
  ScimPatch,
  ScimSchemas,
  ScimSearch,
  ScimText,
  scimBase,
  scimLinkLimit,
  scimListQuery,
  scimMediaType,
  scimMessage,
  scimPageLimit,
  scimProjectionQuery,
  scimWriteQuery,
} from './directory.ts';

const optionalText = Type.Optional(ScimText);

const ScimMember = named(
  'ScimMember',
  Type.Object({
    value: optionalText,
    $ref: optionalText,
    ref: optionalText,
    display: optionalText,
    type: Type.Optional(Type.String({ maxLength: 20, description: 'USER' })),
  }),
);

export const ScimGroup = named(
  'ScimGroup',
  Type.Object({
    schemas: ScimSchemas,
    id: Name,
    externalId: optionalText,
    displayName: optionalText,
    accountId: Type.Optional(Name),
    accountName: optionalText,
    role: Type.Optional(
      Type.String({
        maxLength: 50,
        description:
          'What the group gives to its active members: a role in the environment, else in the project, else in the account',
      }),
    ),
    projectId: Type.Optional(Name),
    projectName: optionalText,
    environment: optionalText,
    members: Type.Optional(Type.Array(ScimMember, { maxItems: scimLinkLimit })),
    meta: Type.Optional(ScimMeta),
  }),
);
export type ScimGroup = Static<typeof ScimGroup>;

const ScimGroupList = named(
  'ScimGroupList',
  Type.Object({
    schemas: ScimSchemas,
    totalResults: Type.Integer({ minimum: 0 }),
    startIndex: Type.Integer({ minimum: 1 }),
    itemsPerPage: Type.Integer({ minimum: 0 }),
    Resources: Type.Array(ScimGroup, { maxItems: scimPageLimit }),
  }),
);

const ScimGroupBody = scimMessage(
  'ScimGroupBody',
  'A group (RFC 7643 §4.2): `displayName`, `externalId`, `members`, and what it gives: `role`, `projectId` or `projectName`, `environment`.',
);

const group = { surface: 'dpc', tag: 'Directory', permission: 'directory:manage' } as const;
const path = Type.Object({ id: OpaqueId });
const one = { status: 200, body: ScimGroup, mediaType: scimMediaType, headers: ['ETag'] } as const;
const list = { status: 200, body: ScimGroupList, mediaType: scimMediaType } as const;
const listProblems = ['invalid-filter', 'invalid-attribute-value'] as const satisfies readonly ProblemCode[];
const writeProblems = [
  'invalid-scim-message',
  'invalid-attribute-value',
  'group-name-taken',
  'directory-limit',
] as const satisfies readonly ProblemCode[];
const changeProblems = [
  'group-not-found',
  'etag-mismatch',
  'last-super-admin-user',
  'role-group-protected',
] as const satisfies readonly ProblemCode[];
const updateEvents = ['group-updated', 'group-members-changed', 'role-group-emptied'] as const;

export const listScimGroups = operation({
  ...group,
  id: 'listScimGroups',
  method: 'GET',
  path: `${scimBase}/Groups`,
  summary: 'List groups',
  query: Type.Object(scimListQuery),
  success: list,
  problems: listProblems,
  events: [],
});

export const searchScimGroups = operation({
  ...group,
  id: 'searchScimGroups',
  method: 'POST',
  path: `${scimBase}/Groups/.search`,
  summary: 'Search groups',
  body: ScimSearch,
  success: list,
  problems: [...listProblems, 'invalid-scim-message'],
  events: [],
  withoutEvent: 'it only reads',
});

export const createScimGroup = operation({
  ...group,
  id: 'createScimGroup',
  method: 'POST',
  path: `${scimBase}/Groups`,
  summary: 'Create a group',
  query: Type.Object(scimWriteQuery),
  body: ScimGroupBody,
  success: { ...one, status: 201, headers: ['ETag', 'Location'] },
  problems: writeProblems,
  events: ['group-created'],
});

export const getScimGroup = operation({
  ...group,
  id: 'getScimGroup',
  method: 'GET',
  path: `${scimBase}/Groups/{id}`,
  summary: 'Get a group',
  params: path,
  query: Type.Object(scimProjectionQuery),
  success: { ...one, conditional: true },
  problems: ['group-not-found'],
  events: [],
});

export const replaceScimGroup = operation({
  ...group,
  id: 'replaceScimGroup',
  method: 'PUT',
  path: `${scimBase}/Groups/{id}`,
  summary: 'Replace a group',
  description:
    'Attributes and members that the body leaves out are removed, except what the group gives: `role`, `projectId`, `projectName` and `environment`.',
  params: path,
  query: Type.Object(scimWriteQuery),
  headers: ifMatchHeader,
  body: ScimGroupBody,
  success: one,
  problems: [...writeProblems, ...changeProblems],
  events: updateEvents,
});

export const patchScimGroup = operation({
  ...group,
  id: 'patchScimGroup',
  method: 'PATCH',
  path: `${scimBase}/Groups/{id}`,
  summary: 'Change a group',
  description: 'With `excludedAttributes=members` the response of a large group is small.',
  params: path,
  query: Type.Object(scimWriteQuery),
  headers: ifMatchHeader,
  body: ScimPatch,
  success: one,
  problems: [
    ...writeProblems,
    ...changeProblems,
    'invalid-attribute-path',
    'invalid-filter',
    'no-patch-target',
    'immutable-attribute',
    'too-many-operations',
  ],
  events: updateEvents,
});

export const deleteScimGroup = operation({
  ...group,
  id: 'deleteScimGroup',
  method: 'DELETE',
  path: `${scimBase}/Groups/{id}`,
  summary: 'Delete a group',
  description: 'Its members lose what the group gives.',
  params: path,
  query: Type.Object(scimWriteQuery),
  headers: ifMatchHeader,
  success: { status: 204, mediaType: scimMediaType },
  problems: [...changeProblems, 'directory-limit'],
  events: ['group-deleted'],
});

export const scimGroupOperations = [
  listScimGroups,
  searchScimGroups,
  createScimGroup,
  getScimGroup,
  replaceScimGroup,
  patchScimGroup,
  deleteScimGroup,
] as const;
