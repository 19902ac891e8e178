/** The role of PostgreSQL that queries of people and assistants use. */
import type { Client } from 'pg';
import type { PostgresAccess } from './postgres-access.ts';

/** Of the server's own roles those that only read tables, and one that nobody can be granted. */
const harmlessRoles = ['pg_read_all_data', 'pg_database_owner'];

interface RoleRow {
  attributes: string[];
  roles: string[];
}

/**
 * A transaction that only reads does not keep a role from more than reading: from ending sessions, writing files of the
 * server, or seeing the statements of runs. A member of a role can become it by a function.
 *
 * @throws Error with the statements that mend the role
 */
export async function requireReadOnlyRole(
  client: Client,
  { name, username, schema = 'public' }: PostgresAccess,
  runRole: string,
): Promise<void> {
  const { rows } = await client.query<RoleRow>(
    `select array_remove(array[case when own.rolsuper then 'SUPERUSER' end, case when own.rolcreaterole then 'CREATEROLE' end,
        case when own.rolreplication then 'REPLICATION' end], null) as attributes,
      array(select other.rolname::text from pg_catalog.pg_roles other
        where other.oid <> own.oid and pg_catalog.pg_has_role(own.oid, other.oid, 'MEMBER')
          and (other.rolname = $1 or other.rolsuper or other.rolcreaterole or other.rolreplication
            or (pg_catalog.starts_with(other.rolname::text, 'pg_') and other.rolname <> all ($2::name[])))
        order by 1) as roles
    from pg_catalog.pg_roles own where own.rolname = session_user`,
    [runRole, harmlessRoles],
  );
  const { attributes, roles } = rows[0] ?? { attributes: [], roles: [] };
  const role = quoteName(username);
  const subject = `the role "${username}", which the connection "${name}" names for reading,`;
  const grants = `GRANT USAGE ON SCHEMA ${quoteName(schema)} TO ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA ${quoteName(schema)} TO ${role};`;
  if (username === runRole)
    throw new Error(
      `${subject} is that of the runs: CREATE ROLE headgate_reader LOGIN PASSWORD '…'; ${grants.replaceAll(role, 'headgate_reader')} Then set "readUsername" and "readPassword"`,
    );
  if (attributes.length > 0)
    throw new Error(
      `${subject} may do more than read, because it has ${attributes.join(', ')}: ALTER ROLE ${role} ${attributes.map((each) => `NO${each}`).join(' ')}; ${grants}`,
    );
  if (roles.length > 0)
    throw new Error(
      `${subject} may do more than read, because it is a member of ${roles.join(', ')}: REVOKE ${roles.map(quoteName).join(', ')} FROM ${role}; ${grants}`,
    );
}

const quoteName = (name: string) =>
  /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
