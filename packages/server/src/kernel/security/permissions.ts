/** Roles as parameters of the SQL function `rights()`. The permission table is `contract/permission.ts`. */
import { type Permission, permissions } from '@headgate/contract';

/**
 * The caller: a principal of an account. Every store function takes it, so that none can be called without
 * an account.
 */
export interface Scope {
  accountId: string;
  /** The id of a credential or a user. */
  actorId: string;
  /** The personal credential or the personal token by which a user acts. */
  userCredentialId?: string | undefined;
  /** The session of the browser or program in which a user acts. Work that outlives the request does not need it. */
  sessionId?: string | undefined;
  /** A user that acts without a personal credential: in a session, or in work that it started. */
  isUser?: boolean | undefined;
  /** Other principals: the caller may do only what they all may do (docs/adr/0073). */
  otherActorIds?: readonly string[] | undefined;
}

/** Whether the caller is a user, and not a credential of the account. */
export function isUserScope({
  userCredentialId,
  isUser,
}: Pick<Scope, 'userCredentialId' | 'isUser'>): boolean {
  return isUser ?? userCredentialId !== undefined;
}

/**
 * By what a user acts: a personal credential, a personal token or a session. Null for a credential, and for work of a
 * user.
 */
export function findUserAccessId({
  userCredentialId,
  sessionId,
}: Pick<Scope, 'userCredentialId' | 'sessionId'>) {
  return userCredentialId ?? sessionId ?? null;
}

/**
 * The roles that have the permission of an operation, as array literals. Beside the roles in a project and in an
 * environment stands the permission itself: by it, PostgreSQL finds the custom roles that have it.
 */
export interface RequiredRoles {
  account: string;
  project: string;
  environment: string;
}

/** An array literal. */
export const encodeRoles = (roles: readonly string[]) => `{${roles.join(',')}}`;

export function findRequiredRoles(permission: Permission): RequiredRoles {
  const grant = permissions[permission];
  const withCustom = (roles: readonly string[]) =>
    encodeRoles(roles.length === 0 ? roles : [...roles, permission]);
  return {
    account: encodeRoles(grant.account),
    project: withCustom(grant.project),
    environment: withCustom(grant.environment),
  };
}

/** The caller's standing in a project for one operation: a column of every guarded statement. */
export type Standing = 'inactive' | 'unknown' | 'forbidden' | 'permitted';
