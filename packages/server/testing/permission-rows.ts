/**
 * The permission table, row by row. It deliberately repeats the table in the code, so that
 * a test can compare the two. The guards of each slice assign its operations to rows.
 */
import type { AccountRole, EnvironmentRole, ProjectRole } from '@headgate/contract';

export interface PermissionRow {
  account: readonly AccountRole[];
  project?: readonly ProjectRole[];
  environment?: readonly EnvironmentRole[];
}

export const permissionRows = {
  'create projects': { account: ['SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN'] },
  'read a project and what is in it': {
    account: ['SUPER_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR', 'VIEWER'],
  },
  'read executions, steps and logs of an environment': {
    account: ['SUPER_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR', 'VIEWER'],
    environment: ['OWNER', 'CONTRIBUTOR', 'OPERATOR', 'VIEWER'],
  },
  'change or delete a project; environments; delete variables': {
    account: ['SUPER_ADMIN'],
    project: ['OWNER'],
  },
  'the same, of its environment': {
    account: ['SUPER_ADMIN'],
    project: ['OWNER'],
    environment: ['OWNER'],
  },
  'create and change variables, connections, secret references': {
    account: ['SUPER_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR'],
  },
  'write and delete overrides in an environment; upload, promote, enable artifacts there': {
    account: ['SUPER_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR'],
    environment: ['OWNER', 'CONTRIBUTOR'],
  },
  'start and stop executions in an environment': {
    account: ['SUPER_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR'],
    environment: ['OWNER', 'CONTRIBUTOR', 'OPERATOR'],
  },
  'repositories of a project': { account: ['SUPER_ADMIN'], project: ['OWNER'] },
  'push to the repository of a project': { account: ['SUPER_ADMIN'], project: ['OWNER', 'CONTRIBUTOR'] },
  'enterprise OAuth connections': { account: ['SUPER_ADMIN', 'ADMIN'] },
  'list agents, read shared pipelines': { account: ['SUPER_ADMIN', 'ADMIN', 'MEMBER', 'DIRECTORY'] },
  'write secrets': { account: ['SUPER_ADMIN', 'ADMIN'] },
  'manage agents and shared pipelines': { account: ['SUPER_ADMIN', 'ADMIN'] },
  SCIM: { account: ['SUPER_ADMIN', 'DIRECTORY'] },
  'settings of the directory': { account: ['SUPER_ADMIN'] },
  consumption: { account: ['SUPER_ADMIN', 'BILLING_ADMIN'] },
  'read the budget of a project': {
    account: ['SUPER_ADMIN', 'BILLING_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR', 'VIEWER'],
  },
  'credentials, events, lineage of the account': { account: ['SUPER_ADMIN'] },
  'webhooks of the account': { account: ['SUPER_ADMIN', 'ADMIN'] },
  'users and groups of the account': { account: ['SUPER_ADMIN'] },
  'read who may do what in a project': { account: ['SUPER_ADMIN'], project: ['OWNER'] },
  'lists of what the caller may read': {
    account: ['SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN', 'MEMBER', 'DIRECTORY'],
  },
} satisfies Record<string, PermissionRow>;

export type PermissionRowName = keyof typeof permissionRows;
