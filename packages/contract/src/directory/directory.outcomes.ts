/** Problems and events of the directory: users, groups, and the roles that groups give. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

interface Found {
  reason: string;
}

const scimProblems = {
  'invalid-filter': kind<Found>(
    400,
    'The filter cannot be read, or it compares an attribute in a way that its type does not allow.',
    ({ reason }) => `The filter is invalid: ${reason}`,
  ),
  'invalid-attribute-path': kind<Found>(
    400,
    'A path of a PATCH operation names no attribute of the resource.',
    ({ reason }) => `The path is invalid: ${reason}`,
  ),
  'invalid-scim-message': kind<Found>(
    400,
    'The body is not a SCIM message of the kind that the operation takes, or `schemas` names another one.',
    ({ reason }) => `The body is not a valid SCIM message: ${reason}`,
  ),
  'invalid-attribute-value': kind<Found>(
    400,
    'An attribute is missing, or its value does not fit its type.',
    ({ reason }) => reason,
  ),
  'no-patch-target': kind<Found>(
    400,
    'A PATCH operation removes without a path, or replaces a value that does not exist.',
    ({ reason }) => reason,
  ),
  'immutable-attribute': kind<{ attribute: string; reason: string }>(
    400,
    'A PATCH operation names an attribute that cannot be changed, or removes one that is required.',
    ({ attribute, reason }) => `${attribute} ${reason}`,
  ),
  'too-many-operations': kind<{ limit: number; found: number }>(
    400,
    'A PATCH has more operations than allowed.',
    ({ limit, found }) =>
      `The PATCH has ${found} operations; send at most ${limit} in one request. One operation can add many members.`,
  ),
  'bulk-too-large': kind<{ limit: number; found: number }>(
    413,
    'A Bulk request has more operations than allowed.',
    ({ limit, found }) => `The request has ${found} operations; send at most ${limit} in one request.`,
  ),
} as const;

const directoryProblems = {
  'user-not-found': kind<{ id: string }>(
    404,
    'The account has no such user.',
    ({ id }) => `There is no user ${id}.`,
  ),
  'group-not-found': kind<{ id: string }>(
    404,
    'The account has no such group.',
    ({ id }) => `There is no group ${id}.`,
  ),
  'scim-description-not-found': kind<{ id: string }>(
    404,
    'There is no such schema or resource type.',
    ({ id }) => `There is no schema or resource type ${quoted(id)}.`,
  ),
  'user-name-taken': kind<{ name: string }>(
    409,
    'Another user has this userName. Case does not matter.',
    ({ name }) => `A user with the userName ${quoted(name)} already exists.`,
  ),
  'group-name-taken': kind<{ name: string }>(
    409,
    'Another group has this displayName. Case does not matter.',
    ({ name }) => `A group with the displayName ${quoted(name)} already exists.`,
  ),
  'last-super-admin-user': kind(
    409,
    'The request would leave no active user in a group that gives SUPER_ADMIN.',
    () =>
      'It would leave no active user in a group that gives SUPER_ADMIN; add another member to such a group first.',
  ),
  'role-group-protected': kind<{ name: string }>(
    409,
    'The request would empty or delete a group that gives a role, and the account protects such groups.',
    ({ name }) =>
      `The group ${quoted(name)} gives a role, and the request would leave it without members. If that is intended, send it again with ?confirm=true.`,
  ),
  'directory-limit': kind<Found>(
    403,
    'A credential with the role DIRECTORY cannot change what gives roles, or what gives SUPER_ADMIN.',
    ({ reason }) => `A caller with the role DIRECTORY ${reason}; a SUPER_ADMIN can do it.`,
  ),
} as const;

/** Of writes to users and groups. */
export const directoryWriteEvents = [
  'user-created',
  'user-updated',
  'user-activated',
  'user-deactivated',
  'user-deleted',
  'group-created',
  'group-updated',
  'group-members-changed',
  'role-group-emptied',
  'group-deleted',
] as const;

export const directoryOutcomes = {
  events: [...directoryWriteEvents, 'directory-settings-updated'],
  problems: { ...scimProblems, ...directoryProblems },
} as const satisfies Outcomes;
