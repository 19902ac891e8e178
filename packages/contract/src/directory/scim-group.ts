/** Groups by SCIM: RFC 7643 §4.2. */
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
} from './directory.ts';
import { scimList, scimPatchProblems, scimRequests } from './scim-requests.ts';

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

const ScimGroupList = scimList('ScimGroupList', ScimGroup);

const ScimGroupBody = scimMessage(
  'ScimGroupBody',
  'A group (RFC 7643 §4.2): `displayName`, `externalId`, `members`, and what it gives: `role`, `projectId` or `projectName`, `environment`.',
);

const one = { status: 200, body: ScimGroup, mediaType: scimMediaType, headers: ['ETag'] } as const;
const list = { status: 200, body: ScimGroupList, mediaType: scimMediaType } as const;
const writeProblems = [
  'invalid-scim-message',
  'invalid-attribute-value',
  'group-name-taken',
  'directory-limit',
  'super-admin-for-a-time',
] as const satisfies readonly ProblemCode[];
const changeProblems = [
  'group-not-found',
  'etag-mismatch',
  'last-super-admin-user',
  'role-group-protected',
] as const satisfies readonly ProblemCode[];
const updateEvents = ['group-updated', 'group-members-changed', 'role-group-emptied'] as const;

export const listScimGroups = operation({
  ...scimRequests.list,
  id: 'listScimGroups',
  path: `${scimBase}/Groups`,
  summary: 'List groups',
  success: list,
});

export const searchScimGroups = operation({
  ...scimRequests.search,
  id: 'searchScimGroups',
  path: `${scimBase}/Groups/.search`,
  summary: 'Search groups',
  success: list,
});

export const createScimGroup = operation({
  ...scimRequests.create,
  id: 'createScimGroup',
  path: `${scimBase}/Groups`,
  summary: 'Create a group',
  body: ScimGroupBody,
  success: { ...one, status: 201, headers: ['ETag', 'Location'] },
  problems: writeProblems,
  events: ['group-created'],
});

export const getScimGroup = operation({
  ...scimRequests.get,
  id: 'getScimGroup',
  path: `${scimBase}/Groups/{id}`,
  summary: 'Get a group',
  success: { ...one, conditional: true },
  problems: ['group-not-found'],
});

export const replaceScimGroup = operation({
  ...scimRequests.replace,
  id: 'replaceScimGroup',
  path: `${scimBase}/Groups/{id}`,
  summary: 'Replace a group',
  description:
    'Attributes and members that the body leaves out are removed, except what the group gives: `role`, `projectId`, `projectName` and `environment`.',
  body: ScimGroupBody,
  success: one,
  problems: [...writeProblems, ...changeProblems],
  events: updateEvents,
});

export const patchScimGroup = operation({
  ...scimRequests.patch,
  id: 'patchScimGroup',
  path: `${scimBase}/Groups/{id}`,
  summary: 'Change a group',
  description: 'With `excludedAttributes=members` the response of a large group is small.',
  success: one,
  problems: [...writeProblems, ...changeProblems, ...scimPatchProblems],
  events: updateEvents,
});

export const deleteScimGroup = operation({
  ...scimRequests.delete,
  id: 'deleteScimGroup',
  path: `${scimBase}/Groups/{id}`,
  summary: 'Delete a group',
  description: 'Its members lose what the group gives.',
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
