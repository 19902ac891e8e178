/** Queries of people and assistants, by a user whose role can only read. */

import { readSnowflakeName } from '@headgate/contract/without-schemas';
import type { SnowflakeAccess } from './snowflake/snowflake-access.ts';
import type { SnowflakeSession } from './snowflake/snowflake-session.ts';
import { readFirstWord, readWords } from './statements/sql-words.ts';
import type { ReadingConnection, ReadRows } from './warehouse.ts';

/** What a role may be granted that only reads. */
const harmless = new Set(['SELECT', 'REFERENCES']);
const usable = new Set(['WAREHOUSE', 'DATABASE', 'SCHEMA', 'FILE_FORMAT', 'FILE FORMAT']);
/** Roles that Snowflake makes itself. PUBLIC is everyone's. */
const strongRoles = new Set([
  'ACCOUNTADMIN',
  'ORGADMIN',
  'SECURITYADMIN',
  'SYSADMIN',
  'USERADMIN',
  'GLOBALORGADMIN',
]);
const mostRoles = 50;
const mostGrants = 10_000;

interface Grant {
  privilege: string;
  on: string;
  name: string;
}

/**
 * Snowflake has no transaction that only reads, so the grants of the role decide, and those of the roles in it. The
 * user must be another one than that of the runs: a user can see and end the statements of its own sessions.
 *
 * @throws Error with the statements that mend the role
 */
export async function requireReadOnlyRole(
  session: SnowflakeSession,
  { name, username, role, warehouse, database, schema }: SnowflakeAccess,
  runUser: string,
  isTest = false,
): Promise<void> {
  const subject = `the user "${username}", which the connection "${name}" names for reading,`;
  if (username.toUpperCase() === runUser.toUpperCase())
    throw new Error(
      `${subject} is that of the runs: CREATE USER headgate_reader TYPE = SERVICE DEFAULT_ROLE = headgate_reader; Then set "readUsername", "readPrivateKey" and "readRole"`,
    );
  if (role === undefined)
    throw new Error(`the connection "${name}" has no "readRole": set it to a role that can only read`);
  await query(session, 'USE SECONDARY ROLES NONE');
  // SQL of a test may change the role of its session.
  const open = isTest ? [role, ...(await listRoles(session, username))] : [role];
  const seen = new Set(open);
  const faults: string[] = [];
  for (const each of open) {
    if (strongRoles.has(each)) faults.push(`it is ${each}`);
    for (const grant of await listGrants(session, each)) {
      if (grant.privilege === 'USAGE' && grant.on === 'ROLE') {
        if (seen.has(grant.name)) continue;
        seen.add(grant.name);
        if (seen.size > mostRoles) faults.push(`it has more than ${mostRoles} roles`);
        else open.push(grant.name);
      } else if (!isHarmless(grant) && !isOfTest(grant))
        faults.push(`${each} has ${grant.privilege} on ${grant.on} ${grant.name}`);
    }
  }
  // Everyone has it, whatever the session's role is.
  for (const grant of await listGrants(session, 'PUBLIC'))
    if (isWrite(grant) && !isOfTest(grant))
      faults.push(`PUBLIC, which everyone has, has ${grant.privilege} on ${grant.on} ${grant.name}`);
  const [fault] = faults;
  if (fault === undefined) return;
  const place = [database, schema].filter((part) => part !== undefined).map(writeName);
  const grants = [
    `GRANT USAGE ON WAREHOUSE ${writeName(warehouse ?? '…')} TO ROLE headgate_reader`,
    `GRANT USAGE ON DATABASE ${place[0] ?? '…'} TO ROLE headgate_reader`,
    `GRANT USAGE ON SCHEMA ${place.join('.')} TO ROLE headgate_reader`,
    `GRANT SELECT ON ALL TABLES IN SCHEMA ${place.join('.')} TO ROLE headgate_reader`,
  ];
  throw new Error(
    `the role "${role}", which the connection "${name}" names for reading, may do more than read: ${fault}. Use a role of its own: CREATE ROLE headgate_reader; ${grants.join('; ')};`,
  );
}

/** USAGE of a function, a procedure or an integration lets SQL do what the role itself may not. */
const isHarmless = ({ privilege, on }: Grant) =>
  harmless.has(privilege) || (privilege === 'USAGE' && usable.has(on));

/** Snowflake grants PUBLIC the use of functions and applications of its own. */
const isWrite = ({ privilege, on }: Grant) =>
  // not SQL: privileges of SHOW GRANTS
  /^(?:INSERT|UPDATE|DELETE|TRUNCATE|OWNERSHIP|ALL|CREATE\b.*|EVOLVE SCHEMA|WRITE)$/.test(privilege) ||
  (privilege === 'USAGE' && on === 'PROCEDURE');

/** In the schema of a running test, which its role writes to. */
const isOfTest = ({ name }: Grant) => /(?:^|\.)HEADGATE_TEST_[0-9A-F]{32}_[0-9A-F]{12}(?:\.|$)/.test(name);

const writeName = (name: string) =>
  name === '…' || /^[A-Z_][A-Z0-9_$]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;

async function listRoles(session: SnowflakeSession, user: string): Promise<string[]> {
  const name = user.toUpperCase().replaceAll('"', '""');
  const { columns, rows } = await query(session, `SHOW GRANTS TO USER "${name}"`);
  const role = columns.findIndex((each) => each.toLowerCase() === 'role');
  if (role === -1) throw new Error('SHOW GRANTS gives no roles that can be read');
  return rows.map((row) => String(row[role])).filter((each) => each !== 'PUBLIC');
}

async function listGrants(session: SnowflakeSession, role: string): Promise<Grant[]> {
  const { columns, rows } = await query(session, `SHOW GRANTS TO ROLE "${role.replaceAll('"', '""')}"`);
  const find = (column: string) => columns.findIndex((each) => each.toLowerCase() === column);
  const [privilege, on, name] = [find('privilege'), find('granted_on'), find('name')];
  if ([privilege, on, name].includes(-1)) throw new Error('SHOW GRANTS gives no grants that can be read');
  return rows.map((row) => ({
    privilege: String(row[privilege]),
    on: String(row[on]),
    name: readSnowflakeName(String(row[name])),
  }));
}

async function query(session: SnowflakeSession, sql: string): Promise<Pick<ReadRows, 'columns' | 'rows'>> {
  const rows: ReadRows['rows'] = [];
  const { columns } = await session.run({
    sql,
    isQuery: true,
    limit: undefined,
    secret: undefined,
    onRow(row) {
      if (rows.length === mostGrants)
        throw new Error('the role for reading has too many grants to be checked');
      rows.push(row);
      return true;
    },
  });
  return { columns, rows };
}

/** What begins so reads, and Snowflake takes one statement at a time. */
const reading = ['select', 'with', 'values', 'show', 'describe', 'desc', 'explain', 'list', 'ls'];

/** WITH … AS PROCEDURE … CALL runs statements. */
function callsProcedure(sql: string): boolean {
  const words = new Set(Array.from(readWords(sql), ({ value }) => value.toLowerCase()));
  return words.has('procedure') && words.has('call');
}

/** For one query. */
export function createReadingConnection(session: SnowflakeSession): ReadingConnection {
  return {
    async read(sql, { maxRows, maxBytes }, limit) {
      const rows: ReadRows['rows'] = [];
      let size = 0;
      let isCut = false;
      try {
        if (!reading.includes(readFirstWord(sql)) || callsProcedure(sql))
          throw new Error(`only one query that reads can run here: begin it with SELECT or WITH`);
        const { columns } = await session.run({
          sql,
          isQuery: true,
          limit,
          secret: undefined,
          onRow(row) {
            size += Buffer.byteLength(JSON.stringify(row));
            isCut = rows.length === maxRows || size > maxBytes;
            if (!isCut) rows.push(row);
            return !isCut;
          },
        });
        return { columns, rows, isCut };
      } finally {
        await session.close();
      }
    },
    close: () => session.close(),
  };
}
