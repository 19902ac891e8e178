/** Who may do what, and why (issue 15). */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { accountRoles, placePermissions } from '../permission.ts';
import { EnvironmentName, Name, oneOf, ProjectId, pageOf, pageQuery, Uuid } from '../primitives.ts';
import { projectPath } from '../project/project.ts';

const mostRoles = 1_000;
export const RoleName = Type.String({
  maxLength: 50,
  description: 'A built-in role, or the name of a custom role',
});

export const PrincipalType = named(
  'PrincipalType',
  oneOf(['USER', 'CREDENTIAL'], {
    description: 'USER: a person, by a personal credential. CREDENTIAL: a program, by an API credential',
  }),
);
export const GroupOfRole = {
  groupId: Type.Optional(Type.String({ ...Uuid, description: 'The group that gives the role' })),
  groupName: Type.Optional(Name),
};

/** A role with what gives it. */
export const HeldRole = named(
  'HeldRole',
  Type.Object({
    role: RoleName,
    level: oneOf(['ACCOUNT', 'PROJECT', 'ENVIRONMENT']),
    environmentName: Type.Optional(EnvironmentName),
    source: oneOf(['GROUP', 'GRANT', 'CREDENTIAL', 'ENVIRONMENT_DEFAULT', 'EVERY_USER'], {
      description:
        'GROUP: a group gives it. GRANT: it was given to this principal, such as OWNER to the creator of a project. CREDENTIAL: the account role of a credential. ENVIRONMENT_DEFAULT: `defaultUserAccessLevel` of the environment gives it to users with a role in the project. EVERY_USER: MEMBER, which a user is without another role in the account',
    }),
    ...GroupOfRole,
  }),
);
export type HeldRole = Static<typeof HeldRole>;

export const GivenPermission = named(
  'GivenPermission',
  Type.Object({
    permission: oneOf(placePermissions),
    environmentNames: Type.Optional(
      Type.Array(EnvironmentName, {
        maxItems: mostRoles,
        description: 'The environments where it applies. Absent: in the whole project',
      }),
    ),
  }),
);
export type GivenPermission = Static<typeof GivenPermission>;

export const ProjectAccess = named(
  'ProjectAccess',
  Type.Object({
    principalId: Uuid,
    principalType: PrincipalType,
    name: Type.String({ ...Name, description: 'The userName of a user, or the name of a credential' }),
    roles: Type.Array(HeldRole, {
      maxItems: mostRoles,
      description: `The roles that apply in the project. The first ${mostRoles.toLocaleString('en')} are shown`,
    }),
    permissions: Type.Array(GivenPermission, { maxItems: placePermissions.length }),
  }),
);
export type ProjectAccess = Static<typeof ProjectAccess>;

export const getProjectAccess = operation({
  id: 'getProjectAccess',
  method: 'GET',
  path: '/v1/projects/{projectId}/access',
  surface: 'dpc',
  tag: 'Access',
  summary: 'List who may do what in a project',
  description:
    'Contains every user and credential that has a role in the project or may act there as SUPER_ADMIN, by name. Inactive users and expired credentials are left out: they may do nothing. With `permission`, only those who have it: in the environment of `environmentName`, or without it in the project or any of its environments.',
  permission: 'access:read',
  params: Type.Object(projectPath),
  query: Type.Object({
    permission: Type.Optional(oneOf(placePermissions)),
    environmentName: Type.Optional(EnvironmentName),
    ...pageQuery,
  }),
  success: { status: 200, body: pageOf(ProjectAccess) },
  problems: ['unknown-environment'],
  events: [],
});

const Reason = named(
  'AccessReason',
  Type.Object({
    permission: oneOf(placePermissions),
    allowed: Type.Boolean(),
    grantedBy: Type.Array(HeldRole, {
      maxItems: mostRoles,
      description: 'The roles of the principal that give the permission there',
    }),
    wouldAllow: Type.Array(
      Type.Object({
        level: oneOf(['ACCOUNT', 'PROJECT', 'ENVIRONMENT']),
        roles: Type.Array(RoleName, { maxItems: mostRoles }),
      }),
      { maxItems: 3, description: 'Where it is not allowed: the roles that would, each alone' },
    ),
  }),
);

export const AccessExplanation = named(
  'AccessExplanation',
  Type.Object({
    allowed: Type.Boolean(),
    standing: oneOf(['PERMITTED', 'FORBIDDEN', 'UNKNOWN', 'INACTIVE'], {
      description:
        'FORBIDDEN: it has a role in the project, but none that allows it. UNKNOWN: it has no role there, so it gets 404. INACTIVE: the user is deactivated, or the credential has expired',
    }),
    principalId: Uuid,
    principalType: PrincipalType,
    name: Name,
    operationId: Name,
    environmentName: Type.Optional(EnvironmentName),
    reasons: Type.Array(Reason, { maxItems: 2, description: 'For each permission that the operation needs' }),
  }),
);
export type AccessExplanation = Static<typeof AccessExplanation>;

export const explainAccess = operation({
  id: 'explainAccess',
  method: 'GET',
  path: '/v1/projects/{projectId}/access/explain',
  surface: 'dpc',
  tag: 'Access',
  summary: 'Explain whether a principal may call an operation',
  description:
    'By the check that a request gets. Without `environmentName`, an operation of an environment is allowed if it is in any environment of the project.',
  permission: 'access:read',
  params: Type.Object(projectPath),
  query: Type.Object({
    principalId: Uuid,
    operation: Type.String({
      ...Name,
      description: 'Its operationId in openapi.json',
    }),
    environmentName: Type.Optional(EnvironmentName),
  }),
  success: { status: 200, body: AccessExplanation },
  problems: ['principal-not-found', 'operation-not-of-project', 'unknown-environment'],
  events: [],
});

const OwnRole = named(
  'OwnRole',
  Type.Object({
    projectId: ProjectId,
    projectName: Name,
    environmentName: Type.Optional(EnvironmentName),
    role: RoleName,
    source: oneOf(['GROUP', 'GRANT', 'ENVIRONMENT_DEFAULT']),
    ...GroupOfRole,
  }),
);
export type OwnRole = Static<typeof OwnRole>;

export const Me = named(
  'Me',
  Type.Object({
    principalId: Uuid,
    principalType: PrincipalType,
    name: Name,
    accountId: Uuid,
    accountName: Name,
    accountRoles: Type.Array(
      Type.Object({
        role: oneOf(accountRoles),
        source: oneOf(['GROUP', 'CREDENTIAL', 'EVERY_USER']),
        ...GroupOfRole,
      }),
      { maxItems: mostRoles },
    ),
    accountPermissions: Type.Array(Name, {
      maxItems: 100,
      description: 'The permissions that the account roles give',
    }),
    roles: Type.Array(OwnRole, {
      maxItems: mostRoles,
      description: `The roles in projects and environments, by project name. The first ${mostRoles.toLocaleString('en')} are shown`,
    }),
    rolesTotal: Type.Integer({ minimum: 0 }),
  }),
);
export type Me = Static<typeof Me>;

export const getMe = operation({
  id: 'getMe',
  method: 'GET',
  path: '/v1/me',
  surface: 'dpc',
  tag: 'Access',
  summary: 'Get the caller and its roles',
  description: 'Shows the user or credential that the token is for, its roles, and what gives each of them.',
  permission: 'self:read',
  success: { status: 200, body: Me },
  problems: [],
  events: [],
});

export const accessOperations = [getMe, getProjectAccess, explainAccess] as const;
/** How many roles a response shows. */
export const shownRoles = mostRoles;
