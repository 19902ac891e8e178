/** SHOW GRANTS of the fake Snowflake. https://docs.snowflake.com/en/sql-reference/sql/show-grants */
import { FakeFault, type FakeResult } from './snowflake-statements.ts';
import type { FakeGrant, FakeUser } from './snowflake-users.ts';

const present = (columns: string[], rows: string[][]): FakeResult => ({
  columns: columns.map((name) => ({ name, type: 'text' })),
  rows,
  statementTypeId: 0x4000,
});

/** @param own the user of the session */
export function showRoles(name: string, own: string, users: ReadonlyMap<string, FakeUser>): FakeResult {
  if (name !== own)
    throw new FakeFault('003001', '42501', `Insufficient privileges to operate on user '${name}'`);
  const roles = Object.keys(users.get(name)?.roles ?? {}).filter((role) => role !== 'PUBLIC');
  return present(
    ['created_on', 'role', 'granted_to', 'grantee_name', 'granted_by'],
    roles.map((role) => ['2030-01-01', role, 'USER', name, 'USERADMIN']),
  );
}

/** @param made what the role was granted since */
export function showGrants(role: string, user: FakeUser | undefined, made: readonly FakeGrant[]): FakeResult {
  const grants = user?.roles[role];
  if (grants === undefined)
    throw new FakeFault(
      '002003',
      '02000',
      `SQL compilation error:\nRole '${role}' does not exist or not authorized.`,
    );
  return present(
    ['created_on', 'privilege', 'granted_on', 'name', 'granted_to', 'grantee_name'],
    [...grants, ...made].map(([privilege, on, name]) => ['2030-01-01', privilege, on, name, 'ROLE', role]),
  );
}
