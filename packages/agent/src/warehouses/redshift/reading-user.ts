/** The user of Redshift that queries of people and assistants use. */
import type { Client } from 'pg';
import type { PostgresAccess } from '../postgres/postgres-access.ts';

/** Role, and what it is granted to. */
interface Grant {
  member: string;
  role: string;
}

/**
 * Roles of the system, such as sys:dba, see or end what others run.
 *
 * @throws Error with the statements that change it
 */
export async function requireReadOnlyUser(
  client: Client,
  { name, username, schema = 'public' }: PostgresAccess,
  runUser: string,
): Promise<void> {
  const user = client.escapeIdentifier(username);
  const subject = `the user "${username}", which the connection "${name}" names for reading,`;
  const place = client.escapeIdentifier(schema);
  const grants = `GRANT USAGE ON SCHEMA ${place} TO ${user}; GRANT SELECT ON ALL TABLES IN SCHEMA ${place} TO ${user};`;
  if (username.toLowerCase() === runUser.toLowerCase())
    throw new Error(
      `${subject} is that of the runs: CREATE USER headgate_reader PASSWORD '…'; ${grants.replaceAll(user, 'headgate_reader')} Then set "readUsername" and "readPassword"`,
    );
  const { rows } = await client.query<{ usesuper: boolean; usecreatedb: boolean }>(
    'select usesuper, usecreatedb from pg_catalog.pg_user where usename = current_user',
  );
  const attributes = [
    ...(rows[0]?.usesuper === false ? [] : ['CREATEUSER']),
    ...(rows[0]?.usecreatedb === false ? [] : ['CREATEDB']),
  ];
  if (attributes.length > 0)
    throw new Error(
      `${subject} may do more than read, because it has ${attributes.join(', ')}: ALTER USER ${user} ${attributes.map((each) => `NO${each}`).join(' ')}; ${grants}`,
    );
  const roles = (await listRoles(client)).filter((role) => role.startsWith('sys:'));
  if (roles.length > 0)
    throw new Error(
      `${subject} may do more than read, because it has the roles ${roles.join(', ')}: REVOKE ROLE ${roles.join(', ')} FROM ${user}; ${grants}`,
    );
}

/** Also those that it has by others. */
async function listRoles(client: Client): Promise<string[]> {
  const own = await client.query<{ role: string }>(
    'select trim(role_name) as role from svv_user_grants where trim(user_name) = current_user',
  );
  const between = await client.query<Grant>(
    'select trim(role_name) as member, trim(granted_role_name) as role from svv_role_grants',
  );
  const found = new Set(own.rows.map(({ role }) => role));
  for (const role of found)
    for (const grant of between.rows) if (grant.member === role) found.add(grant.role);
  return [...found].sort();
}
