/** Users by SCIM: interface.md Directory integration, E26; RFC 7643 §4.1 and §4.3. */
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
  scimUrns,
  scimWriteQuery,
} from './directory.ts';

const optionalText = Type.Optional(ScimText);
const valueLimit = 1_000;

const ScimValue = named(
  'ScimValue',
  Type.Object({
    value: optionalText,
    display: optionalText,
    type: optionalText,
    primary: Type.Optional(Type.Boolean()),
    $ref: optionalText,
  }),
);
const values = Type.Optional(Type.Array(ScimValue, { maxItems: valueLimit }));

const ScimName = named(
  'ScimName',
  Type.Object({
    formatted: optionalText,
    familyName: optionalText,
    givenName: optionalText,
    middleName: optionalText,
    honorificPrefix: optionalText,
    honorificSuffix: optionalText,
  }),
);

const ScimAddress = named(
  'ScimAddress',
  Type.Object({
    formatted: optionalText,
    streetAddress: optionalText,
    locality: optionalText,
    region: optionalText,
    postalCode: optionalText,
    country: optionalText,
    display: optionalText,
    type: optionalText,
    primary: Type.Optional(Type.Boolean()),
  }),
);

const ScimEnterprise = named(
  'ScimEnterprise',
  Type.Object({
    employeeNumber: optionalText,
    costCenter: optionalText,
    organization: optionalText,
    division: optionalText,
    department: optionalText,
    manager: Type.Optional(
      Type.Object({ value: optionalText, $ref: optionalText, displayName: optionalText }),
    ),
  }),
);

export const ScimUser = named(
  'ScimUser',
  Type.Object({
    schemas: ScimSchemas,
    id: Name,
    externalId: optionalText,
    userName: optionalText,
    name: Type.Optional(ScimName),
    displayName: optionalText,
    nickName: optionalText,
    profileUrl: optionalText,
    title: optionalText,
    userType: optionalText,
    preferredLanguage: optionalText,
    locale: optionalText,
    timezone: optionalText,
    active: Type.Optional(Type.Boolean()),
    emails: values,
    phoneNumbers: values,
    ims: values,
    photos: values,
    addresses: Type.Optional(Type.Array(ScimAddress, { maxItems: valueLimit })),
    groups: Type.Optional(
      Type.Array(
        Type.Object({
          value: optionalText,
          $ref: optionalText,
          ref: optionalText,
          display: optionalText,
          type: Type.Optional(Type.String({ maxLength: 20, description: 'DIRECT' })),
        }),
        { maxItems: scimLinkLimit },
      ),
    ),
    entitlements: values,
    roles: values,
    x509Certificates: values,
    [scimUrns.enterpriseUser]: Type.Optional(ScimEnterprise),
    meta: Type.Optional(ScimMeta),
  }),
);
export type ScimUser = Static<typeof ScimUser>;

const ScimUserList = named(
  'ScimUserList',
  Type.Object({
    schemas: ScimSchemas,
    totalResults: Type.Integer({ minimum: 0 }),
    startIndex: Type.Integer({ minimum: 1 }),
    itemsPerPage: Type.Integer({ minimum: 0 }),
    Resources: Type.Array(ScimUser, { maxItems: scimPageLimit }),
  }),
);

const ScimUserBody = scimMessage(
  'ScimUserBody',
  'A user (RFC 7643 §4.1) with the enterprise extension. `userName` is required. `password` is accepted and not stored; read-only and unknown attributes are ignored.',
);

const user = { surface: 'dpc', tag: 'Directory', permission: 'directory:manage' } as const;
const path = Type.Object({ id: OpaqueId });
const one = { status: 200, body: ScimUser, mediaType: scimMediaType, headers: ['ETag'] } as const;
const list = { status: 200, body: ScimUserList, mediaType: scimMediaType } as const;
const listProblems = ['invalid-filter', 'invalid-attribute-value'] as const satisfies readonly ProblemCode[];
const writeProblems = [
  'invalid-scim-message',
  'invalid-attribute-value',
  'user-name-taken',
  'directory-limit',
] as const satisfies readonly ProblemCode[];
const changeProblems = [
  'user-not-found',
  'etag-mismatch',
  'last-super-admin-user',
] as const satisfies readonly ProblemCode[];
const updateEvents = ['user-updated', 'user-activated', 'user-deactivated'] as const;

export const listScimUsers = operation({
  ...user,
  id: 'listScimUsers',
  method: 'GET',
  path: `${scimBase}/Users`,
  summary: 'List users',
  query: Type.Object(scimListQuery),
  success: list,
  problems: listProblems,
  events: [],
});

export const searchScimUsers = operation({
  ...user,
  id: 'searchScimUsers',
  method: 'POST',
  path: `${scimBase}/Users/.search`,
  summary: 'Search users',
  body: ScimSearch,
  success: list,
  problems: [...listProblems, 'invalid-scim-message'],
  events: [],
  withoutEvent: 'it only reads',
});

export const createScimUser = operation({
  ...user,
  id: 'createScimUser',
  method: 'POST',
  path: `${scimBase}/Users`,
  summary: 'Create a user',
  query: Type.Object(scimWriteQuery),
  body: ScimUserBody,
  success: { ...one, status: 201, headers: ['ETag', 'Location'] },
  problems: writeProblems,
  events: ['user-created'],
});

export const getScimUser = operation({
  ...user,
  id: 'getScimUser',
  method: 'GET',
  path: `${scimBase}/Users/{id}`,
  summary: 'Get a user',
  params: path,
  query: Type.Object(scimProjectionQuery),
  success: { ...one, conditional: true },
  problems: ['user-not-found'],
  events: [],
});

export const replaceScimUser = operation({
  ...user,
  id: 'replaceScimUser',
  method: 'PUT',
  path: `${scimBase}/Users/{id}`,
  summary: 'Replace a user',
  description: 'Attributes that the body leaves out are removed, except `active`.',
  params: path,
  query: Type.Object(scimWriteQuery),
  headers: ifMatchHeader,
  body: ScimUserBody,
  success: one,
  problems: [...writeProblems, ...changeProblems],
  events: updateEvents,
});

export const patchScimUser = operation({
  ...user,
  id: 'patchScimUser',
  method: 'PATCH',
  path: `${scimBase}/Users/{id}`,
  summary: 'Change a user',
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

export const deleteScimUser = operation({
  ...user,
  id: 'deleteScimUser',
  method: 'DELETE',
  path: `${scimBase}/Users/{id}`,
  summary: 'Delete a user',
  description: 'Ends all tokens of the user. Past events keep the name.',
  params: path,
  query: Type.Object(scimWriteQuery),
  headers: ifMatchHeader,
  success: { status: 204, mediaType: scimMediaType },
  problems: [...changeProblems, 'directory-limit'],
  events: ['user-deleted', 'role-group-emptied'],
});

export const getScimMe = operation({
  ...user,
  id: 'getScimMe',
  method: 'GET',
  path: `${scimBase}/Me`,
  summary: 'Get the user of the caller',
  description:
    'For a credential that belongs to no user: its id, and its name as `userName`, with the `userType` Credential.',
  permission: 'projects:list',
  query: Type.Object(scimProjectionQuery),
  success: { status: 200, body: ScimUser, mediaType: scimMediaType },
  problems: [],
  events: [],
});

export const scimUserOperations = [
  listScimUsers,
  searchScimUsers,
  createScimUser,
  getScimUser,
  replaceScimUser,
  patchScimUser,
  deleteScimUser,
  getScimMe,
] as const;
