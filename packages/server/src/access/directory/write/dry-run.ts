/** `?dryRun=true`: the write is made and rolled back, and the response shows what it would do. */
import { dryRunListLimit, type ScimDryRun, scimUrns } from '@headgate/contract';
import type { Read } from '../../../kernel/database/database.ts';
import type { Scope } from '../../../kernel/security/permissions.ts';
import type { MemberEffect, Written } from './directory-write.ts';
import { type HeldRole, listHeldRoles, listMembers } from './dry-run.store.ts';

/** Thrown in the transaction, so that it is rolled back. */
export class DryRun extends Error {
  readonly done: Written;
  readonly users: readonly string[];
  readonly rolesAfter: readonly HeldRole[];

  constructor(done: Written, users: readonly string[], rolesAfter: readonly HeldRole[]) {
    super('A dry run is rolled back.');
    this.done = done;
    this.users = users;
    this.rolesAfter = rolesAfter;
  }
}

/** Reads in the transaction of the write what it leads to. */
export async function endDryRun(read: Read, scope: Scope, done: Written): Promise<DryRun> {
  const members = await listMembers(read, scope, done.groups);
  const users = [...new Set([...done.users, ...members])];
  return new DryRun(done, users, await listHeldRoles(read, scope, users));
}

/** Compares it with the present state. */
export async function describeDryRun(
  read: Read,
  scope: Scope,
  { done, users, rolesAfter }: DryRun,
): Promise<ScimDryRun> {
  const rolesBefore = await listHeldRoles(read, scope, users);
  const key = ({ user_id, role, project_id, environment_name }: HeldRole) =>
    JSON.stringify([user_id, role, project_id, environment_name]);
  const [had, has] = [new Set(rolesBefore.map(key)), new Set(rolesAfter.map(key))];
  const gained = rolesAfter.filter((each) => !had.has(key(each))).map(presentRole);
  const lost = rolesBefore.filter((each) => !has.has(key(each))).map(presentRole);
  const result: ScimDryRun = {
    schemas: [scimUrns.dryRun],
    status: String(done.status),
    membersAdded: done.added.slice(0, dryRunListLimit).map(presentMember),
    membersRemoved: done.removed.slice(0, dryRunListLimit).map(presentMember),
    permissionsGained: gained.slice(0, dryRunListLimit),
    permissionsLost: lost.slice(0, dryRunListLimit),
    totals: {
      membersAdded: done.added.length,
      membersRemoved: done.removed.length,
      permissionsGained: gained.length,
      permissionsLost: lost.length,
    },
  };
  if (done.resource !== undefined) result.resource = done.resource;
  return result;
}

function presentRole({ user_id, display, role, project_id, environment_name }: HeldRole) {
  return {
    user: { value: user_id, display },
    role,
    ...(project_id === null ? {} : { projectId: project_id }),
    ...(environment_name === null ? {} : { environment: environment_name }),
  };
}

function presentMember({ group, user }: MemberEffect) {
  return {
    group: { value: group[0], display: group[1] },
    user: { value: user[0], display: user[1] },
  };
}
