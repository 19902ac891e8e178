/** Users by SCIM: RFC 7643 §4.1 and §4.3. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { Name } from '../primitives.ts';
import type { ProblemCode } from '../problem.ts';
import {
  ScimMeta,
  ScimSchemas,
  ScimText,
  scimBase,
  scimLinkLimit,
  scimMediaType,
  scimMessage,
  scimProjectionQuery,
  scimUrns,
} from './directory.ts';
import { scimList, scimOperation, scimPatchProblems, scimRequests } from './scim-requests.ts';

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

const ScimUserList = scimList('ScimUserList', ScimUser);

const ScimUserBody = scimMessage(
  'ScimUserBody',
  'A user (RFC 7643 §4.1) with the enterprise extension. `userName` is required. `password` is accepted and not stored; read-only and unknown attributes are ignored.',
);

const one = { status: 200, body: ScimUser, mediaType: scimMediaType, headers: ['ETag'] } as const;
const list = { status: 200, body: ScimUserList, mediaType: scimMediaType } as const;
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
  ...scimRequests.list,
  id: 'listScimUsers',
  path: `${scimBase}/Users`,
  summary: 'List users',
  success: list,
});

export const searchScimUsers = operation({
  ...scimRequests.search,
  id: 'searchScimUsers',
  path: `${scimBase}/Users/.search`,
  summary: 'Search users',
  success: list,
});

export const createScimUser = operation({
  ...scimRequests.create,
  id: 'createScimUser',
  path: `${scimBase}/Users`,
  summary: 'Create a user',
  body: ScimUserBody,
  success: { ...one, status: 201, headers: ['ETag', 'Location'] },
  problems: writeProblems,
  events: ['user-created'],
});

export const getScimUser = operation({
  ...scimRequests.get,
  id: 'getScimUser',
  path: `${scimBase}/Users/{id}`,
  summary: 'Get a user',
  success: { ...one, conditional: true },
  problems: ['user-not-found'],
});

export const replaceScimUser = operation({
  ...scimRequests.replace,
  id: 'replaceScimUser',
  path: `${scimBase}/Users/{id}`,
  summary: 'Replace a user',
  description: 'Attributes that the body leaves out are removed, except `active`.',
  body: ScimUserBody,
  success: one,
  problems: [...writeProblems, ...changeProblems, 'super-admin-for-a-time'],
  events: updateEvents,
});

export const patchScimUser = operation({
  ...scimRequests.patch,
  id: 'patchScimUser',
  path: `${scimBase}/Users/{id}`,
  summary: 'Change a user',
  success: one,
  problems: [...writeProblems, ...changeProblems, 'super-admin-for-a-time', ...scimPatchProblems],
  events: updateEvents,
});

export const deleteScimUser = operation({
  ...scimRequests.delete,
  id: 'deleteScimUser',
  path: `${scimBase}/Users/{id}`,
  summary: 'Delete a user',
  description: 'Ends all tokens of the user. Past events keep the name.',
  problems: [...changeProblems, 'directory-limit'],
  events: ['user-deleted', 'role-group-emptied'],
});

export const getScimMe = operation({
  ...scimOperation,
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
