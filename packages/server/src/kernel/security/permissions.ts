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
  /** The personal credential by which a user acts. Undefined: the caller is a credential. */
  userCredentialId?: string | undefined;
  /** A user that acts without a personal credential, as in work that it started. */
  isUser?: boolean | undefined;
  /** Other principals: the caller may do only what they all may do (docs/adr/0073). */
  otherActorIds?: readonly string[] | undefined;
}

/** The roles that have the permission of an operation, as array literals. */
export interface RequiredRoles {
  account: string;
  project: string;
  environment: string;
}

/** An array literal. */
export const encodeRoles = (roles: readonly string[]) => `{${roles.join(',')}}`;

export function findRequiredRoles(permission: Permission): RequiredRoles {
  const grant = permissions[permission];
  return {
    account: encodeRoles(grant.account),
    project: encodeRoles(grant.project),
    environment: encodeRoles(grant.environment),
  };
}

/** The caller's standing in a project for one operation: a column of every guarded statement. */
export type Standing = 'inactive' | 'unknown' | 'forbidden' | 'permitted';
