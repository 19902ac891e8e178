/**
 * Who has each permission. It deliberately repeats the table in the code, so that a test can compare the two.
 * docs/permissions.md lists the operations that need each permission.
 */
import type { AccountRole, EnvironmentRole, Permission, ProjectRole } from '@headgate/contract';

export interface PermissionRow {
  account: readonly AccountRole[];
  project?: readonly ProjectRole[];
  environment?: readonly EnvironmentRole[];
}

export const permissionRows: Readonly<Record<Permission, PermissionRow>> = {
  'projects:create': { account: ['SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN'] },
  'projects:list': { account: ['SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN', 'MEMBER', 'DIRECTORY'] },
  'project:read': { account: ['SUPER_ADMIN'], project: ['OWNER', 'CONTRIBUTOR', 'VIEWER'] },
  'project:manage': { account: ['SUPER_ADMIN'], project: ['OWNER'] },
  'project:configure': { account: ['SUPER_ADMIN'], project: ['OWNER', 'CONTRIBUTOR'] },
  'environment:deliver': {
    account: ['SUPER_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR'],
    environment: ['OWNER', 'CONTRIBUTOR'],
  },
  'environment:run': {
    account: ['SUPER_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR'],
    environment: ['OWNER', 'CONTRIBUTOR', 'OPERATOR'],
  },
  'repository:manage': { account: ['SUPER_ADMIN'], project: ['OWNER'] },
  'repository:push': { account: ['SUPER_ADMIN'], project: ['OWNER', 'CONTRIBUTOR'] },
  'executions:read': {
    account: ['SUPER_ADMIN'],
    project: ['OWNER', 'CONTRIBUTOR', 'VIEWER'],
    environment: ['OWNER', 'CONTRIBUTOR', 'OPERATOR', 'VIEWER'],
  },
  'credentials:manage': { account: ['SUPER_ADMIN'] },
  'users:manage': { account: ['SUPER_ADMIN'] },
  'access:read': { account: ['SUPER_ADMIN'], project: ['OWNER'] },
  'self:read': { account: ['SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN', 'MEMBER', 'DIRECTORY'] },
  'events:read': { account: ['SUPER_ADMIN'] },
  'consumption:manage': { account: ['SUPER_ADMIN', 'BILLING_ADMIN'] },
  'budget:read': { account: ['SUPER_ADMIN', 'BILLING_ADMIN'], project: ['OWNER', 'CONTRIBUTOR', 'VIEWER'] },
  'webhooks:manage': { account: ['SUPER_ADMIN', 'ADMIN'] },
  'enterprise-oauths:manage': { account: ['SUPER_ADMIN', 'ADMIN'] },
  'environment:manage': { account: ['SUPER_ADMIN'], project: ['OWNER'], environment: ['OWNER'] },
  'directory:manage': { account: ['SUPER_ADMIN', 'DIRECTORY'] },
  'directory:settings': { account: ['SUPER_ADMIN'] },
  'agents:list': { account: ['SUPER_ADMIN', 'ADMIN', 'MEMBER', 'DIRECTORY'] },
  'agents:manage': { account: ['SUPER_ADMIN', 'ADMIN'] },
};
