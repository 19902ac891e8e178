/**
 * The permissions and the roles that have them. The server enforces this table, and the
 * OpenAPI document shows it.
 *
 * A caller has one account role, and any number of roles in projects and in environments. An operation names
 * one permission; a role in any of its three columns is enough. An environment role counts only in its own
 * environment.
 */
export const accountRoles = ['SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN', 'MEMBER', 'DIRECTORY'] as const;
export type AccountRole = (typeof accountRoles)[number];
export const projectRoles = ['OWNER', 'CONTRIBUTOR', 'VIEWER'] as const;
export type ProjectRole = (typeof projectRoles)[number];
export const environmentRoles = ['OWNER', 'CONTRIBUTOR', 'OPERATOR', 'VIEWER'] as const;
export type EnvironmentRole = (typeof environmentRoles)[number];

export interface Grant {
  /** What the permission allows; continues "Requires permission to …". */
  may: string;
  account: readonly AccountRole[];
  project: readonly ProjectRole[];
  environment: readonly EnvironmentRole[];
}

export const permissions = {
  'projects:create': {
    may: 'create projects',
    account: ['SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN'],
    project: [],
    environment: [],
  },
  'projects:list': {
    may: 'list the projects and executions in which the caller has a role, and follow the events of projects',
    account: accountRoles,
    project: [],
    environment: [],
  },
  'project:read': {
    may: 'read a project and its resources',
    account: ['SUPER_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR', 'VIEWER'],
    environment: [],
  },
  'project:manage': {
    may: 'update and delete projects, create environments, and delete variables',
    account: ['SUPER_ADMIN'],
    project: ['OWNER'],
    environment: [],
  },
  'project:configure': {
    may: 'write variables, connections, secret references and schedules, and use AI tasks',
    account: ['SUPER_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR'],
    environment: [],
  },
  'environment:deliver': {
    may: 'publish, promote and enable artifacts, and write overrides',
    account: ['SUPER_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR'],
    environment: ['OWNER', 'CONTRIBUTOR'],
  },
  'environment:run': {
    may: 'start and stop executions in an environment',
    account: ['SUPER_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR'],
    environment: ['OWNER', 'CONTRIBUTOR', 'OPERATOR'],
  },
  'repository:manage': {
    may: 'associate a project with a Git repository, change or remove the association, and migrate it',
    account: ['SUPER_ADMIN'],
    project: ['OWNER'],
    environment: [],
  },
  'repository:push': {
    may: 'push to the Git repository of a project, and create branches and commits in it',
    account: ['SUPER_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR'],
    environment: [],
  },
  'executions:read': {
    may: 'read the executions, steps, logs, published pipelines and lineage of an environment, and query its tables',
    account: ['SUPER_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR', 'VIEWER'],
    environment: ['OWNER', 'CONTRIBUTOR', 'OPERATOR', 'VIEWER'],
  },
  'credentials:manage': {
    may: 'manage the credentials of the account',
    account: ['SUPER_ADMIN'],
    project: [],
    environment: [],
  },
  'users:manage': {
    may: 'manage users, their personal credentials, and groups',
    account: ['SUPER_ADMIN'],
    project: [],
    environment: [],
  },
  'access:read': {
    may: 'read who may do what in a project',
    account: ['SUPER_ADMIN'],
    project: ['OWNER'],
    environment: [],
  },
  'self:read': {
    may: 'read who the caller is and what it may do',
    account: accountRoles,
    project: [],
    environment: [],
  },
  'events:read': {
    may: 'read the events and the lineage of the account',
    account: ['SUPER_ADMIN'],
    project: [],
    environment: [],
  },
  'consumption:manage': {
    may: 'read the consumption of the account, and set the budgets of projects',
    account: ['SUPER_ADMIN', 'BILLING_ADMIN'],
    project: [],
    environment: [],
  },
  'budget:read': {
    may: 'read the budget of a project, and what the project has spent',
    account: ['SUPER_ADMIN', 'BILLING_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR', 'VIEWER'],
    environment: [],
  },
  'webhooks:manage': {
    may: 'manage the webhooks of the account',
    account: ['SUPER_ADMIN', 'ADMIN'],
    project: [],
    environment: [],
  },
  'enterprise-oauths:manage': {
    may: 'manage the enterprise OAuth connections of the account',
    account: ['SUPER_ADMIN', 'ADMIN'],
    project: [],
    environment: [],
  },
  'environment:manage': {
    may: 'update and delete an environment',
    account: ['SUPER_ADMIN'],
    project: ['OWNER'],
    environment: ['OWNER'],
  },
  'directory:manage': {
    may: 'read and write the users and groups of the directory',
    account: ['SUPER_ADMIN', 'DIRECTORY'],
    project: [],
    environment: [],
  },
  'directory:settings': {
    may: 'read and change the settings of the directory',
    account: ['SUPER_ADMIN'],
    project: [],
    environment: [],
  },
  'agents:list': {
    may: 'read agents, shared pipelines and connector profiles',
    account: ['SUPER_ADMIN', 'ADMIN', 'MEMBER', 'DIRECTORY'],
    project: [],
    environment: [],
  },
  'agents:manage': {
    may: 'manage agents, shared pipelines and connector profiles, write secrets, and let projects use names of vaults',
    account: ['SUPER_ADMIN', 'ADMIN'],
    project: [],
    environment: [],
  },
} as const satisfies Record<string, Grant>;

export type Permission = keyof typeof permissions;

/** Those that a role in a project or in an environment can give. */
export const placePermissions = (Object.keys(permissions) as Permission[]).filter((name) => {
  const { project, environment }: Grant = permissions[name];
  return project.length > 0 || environment.length > 0;
});

/** Those that a role in an environment can give: their check must know which environment. */
export type EnvironmentPermission = {
  [Name in Permission]: (typeof permissions)[Name]['environment'] extends readonly [] ? never : Name;
}[Permission];
