/** Problems and events of the directory: users, groups, and the roles that groups give. */
import { kind, quoted } from '../problem-kind.ts';
import type { Outcomes } from '../sum-of-outcomes.ts';

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
} as const;

export const directoryOutcomes = {
  events: [
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
  ],
  problems: directoryProblems,
} as const satisfies Outcomes;
