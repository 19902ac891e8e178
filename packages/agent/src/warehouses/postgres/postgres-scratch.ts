/** Schemas of tests in PostgreSQL and Redshift, and what the role of a test must not be able to do. */
import type { Client } from 'pg';
import type { PostgresAccess } from './postgres-access.ts';
import { getServerCode } from './postgres-errors.ts';

/** @param client signed in with the login of the runs */
export async function createScratchSchema(
  client: Client,
  schema: string,
  { name, username, database }: PostgresAccess,
  reader: string,
): Promise<void> {
  const place = client.escapeIdentifier(schema);
  try {
    await client.query(`create schema ${place}`);
  } catch (failure) {
    if (getServerCode(failure) !== '42501') throw failure;
    throw new Error(
      `the role "${username}" of the connection "${name}" may not create the schema of a test: GRANT CREATE ON DATABASE ${client.escapeIdentifier(database)} TO ${client.escapeIdentifier(username)};`,
    );
  }
  await client.query(`grant usage, create on schema ${place} to ${client.escapeIdentifier(reader)}`);
}

/** The owner of a schema drops the tables in it, whose owner is another role. */
export async function dropScratchSchema(client: Client, schema: string): Promise<void> {
  await client.query(`drop schema if exists ${client.escapeIdentifier(schema)} cascade`);
}

interface WritableRow {
  what: string;
  name: string;
}

/**
 * A test runs in transactions that write, so that only its privileges keep it from the data of the environment: those
 * of its role, of the roles in it, and of everyone.
 *
 * @param writes how the server says that a relation `c` may be written
 * @throws Error with the statement that changes the role
 */
export async function requireNoWrites(
  client: Client,
  { name, username, database }: PostgresAccess,
  writes: string,
): Promise<void> {
  const own = `n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg!_%' escape '!'
    and n.nspname not like 'headgate!_test!_%' escape '!'`;
  const { rows } = await client.query<WritableRow>(
    `select 'CREATE ON DATABASE' as what, quote_ident(current_database()) as name
      where has_database_privilege(current_database(), 'CREATE')
    union all select 'CREATE ON SCHEMA', quote_ident(n.nspname) from pg_catalog.pg_namespace n
      where ${own} and has_schema_privilege(n.oid, 'CREATE')
    union all select case when c.relkind = 'S' then 'ALL ON SEQUENCE' else 'INSERT, UPDATE, DELETE ON' end,
        quote_ident(n.nspname) || '.' || quote_ident(c.relname)
      from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where ${own} and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and ${writes}
    union all select 'EXECUTE ON FUNCTION', quote_ident(n.nspname) || '.' || quote_ident(p.proname)
      from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
      where ${own} and p.prosecdef and has_schema_privilege(n.oid, 'USAGE') and has_function_privilege(p.oid, 'EXECUTE')
    limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return;
  const statement = `REVOKE ${found.what} ${found.name} FROM PUBLIC, ${client.escapeIdentifier(username)};`;
  throw new Error(
    `tests use the role "${username}", which the connection "${name}" names for reading, but it may write to the database "${database}" itself: ${statement} It must not be the owner either`,
  );
}
