/** API credentials. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { accountRoles } from '../permission.ts';
import {
  DateTime,
  EnvironmentName,
  Name,
  OpaqueId,
  oneOf,
  ProjectId,
  pageOf,
  pageQuery,
  Uuid,
} from '../primitives.ts';

const roleLimit = 1_000;
const longestOverlapSeconds = 7 * 86_400;

/** Role names are not case-sensitive and can have spaces; responses have SUPER_ADMIN, OWNER, … */
export const RoleWord = Type.String({ minLength: 1, maxLength: 50 });

export const ScopedRole = named(
  'ScopedRole',
  Type.Object({
    projectId: ProjectId,
    environmentName: Type.Optional(EnvironmentName),
    role: Type.String({ maxLength: 50, description: 'A built-in role, or the name of a custom role' }),
  }),
);
export type ScopedRole = Static<typeof ScopedRole>;

/** A role in a project or in one environment of it, in requests. */
export const RequestedRole = Type.Object({
  projectId: ProjectId,
  environmentName: Type.Optional(EnvironmentName),
  role: RoleWord,
});

/** Of a credential or a personal token. */
export const ScopedRoleRequests = Type.Array(RequestedRole, { maxItems: roleLimit });

export const Credential = named(
  'Credential',
  Type.Object({
    credentialId: Uuid,
    name: Name,
    clientId: Name,
    role: named('AccountRole', oneOf(accountRoles)),
    roles: Type.Array(ScopedRole, { maxItems: roleLimit }),
    createdAt: DateTime,
    expiresAt: Type.Optional(DateTime),
    lastUsedAt: Type.Optional(
      Type.String({ ...DateTime, description: 'When the credential was last used to get a token' }),
    ),
  }),
);
export type Credential = Static<typeof Credential>;

const IssuedSecret = named(
  'IssuedCredential',
  Type.Object({
    credentialId: Uuid,
    clientId: Name,
    clientSecret: Type.String({ maxLength: 255, description: 'Shown only in this response' }),
  }),
);

const credentialOperation = { surface: 'dpc', tag: 'Credentials', permission: 'credentials:manage' } as const;
const credentialPath = Type.Object({ credentialId: OpaqueId });

export const listCredentials = operation({
  ...credentialOperation,
  id: 'listCredentials',
  method: 'GET',
  path: '/v1/credentials',
  summary: 'List credentials',
  description: 'Newest first.',
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(Credential) },
  problems: [],
  events: [],
});

export const createCredential = operation({
  ...credentialOperation,
  id: 'createCredential',
  method: 'POST',
  path: '/v1/credentials',
  summary: 'Create a credential',
  description:
    '`role` is an account role: SUPER_ADMIN, ADMIN, BILLING_ADMIN, MEMBER or DIRECTORY. It is not case-sensitive. With `projectId`, `role` can also be a role ' +
    'in that project: OWNER, CONTRIBUTOR or VIEWER. The account role is then MEMBER. `roles` adds roles in projects and environments, also custom ones.',
  body: Type.Object({
    name: Name,
    role: RoleWord,
    roles: Type.Optional(ScopedRoleRequests),
    projectId: Type.Optional(ProjectId),
    expiresAt: Type.Optional(DateTime),
  }),
  success: { status: 201, body: IssuedSecret },
  answerHoldsSecret: true,
  problems: [
    'permissions-not-held',
    'unknown-role',
    'unknown-project',
    'unknown-environment',
    'expiry-in-the-past',
    'super-admin-for-a-time',
  ],
  events: ['credential-created'],
});

export const rotateCredential = operation({
  ...credentialOperation,
  id: 'rotateCredential',
  method: 'POST',
  path: '/v1/credentials/{credentialId}/rotate',
  summary: 'Rotate a credential',
  description:
    'Creates a new secret. The old secret can be used for another `overlapSeconds` seconds, 0 by default. Existing tokens are valid until they expire.',
  params: credentialPath,
  body: Type.Object({
    overlapSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: longestOverlapSeconds })),
  }),
  success: { status: 200, body: IssuedSecret },
  answerHoldsSecret: true,
  problems: ['credential-not-found', 'super-admin-for-a-time'],
  events: ['credential-rotated'],
});

export const deleteCredential = operation({
  ...credentialOperation,
  id: 'deleteCredential',
  method: 'DELETE',
  path: '/v1/credentials/{credentialId}',
  summary: 'Delete a credential',
  description:
    'Its tokens are refused immediately. The last SUPER_ADMIN credential that does not expire cannot be deleted.',
  params: credentialPath,
  success: { status: 204 },
  problems: ['credential-not-found', 'last-super-admin'],
  events: ['credential-deleted'],
});

export const credentialOperations = [
  listCredentials,
  createCredential,
  rotateCredential,
  deleteCredential,
] as const;
