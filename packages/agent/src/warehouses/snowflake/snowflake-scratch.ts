/** Schemas of tests in Snowflake. */
import type { SnowflakeAccess } from './snowflake-access.ts';
import type { SnowflakeSession } from './snowflake-session.ts';

const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;

export interface SnowflakeScratch {
  database: string;
  schema: string;
}

const writePlace = ({ database, schema }: SnowflakeScratch) => `${quoteName(database)}.${quoteName(schema)}`;

/** What pipelines create. None of them reaches beyond the schema. */
const objects = ['TABLE', 'VIEW', 'SEQUENCE', 'FUNCTION', 'FILE FORMAT'];

async function execute(session: SnowflakeSession, sql: string): Promise<void> {
  await session.run({ sql, isQuery: false, limit: undefined, secret: undefined, onRow: () => true });
}

/** @param session of the login of the runs, whose role then owns the schema and drops all that is in it */
export async function createScratchSchema(
  session: SnowflakeSession,
  place: SnowflakeScratch,
  { name, username, role }: SnowflakeAccess,
  reader: string,
): Promise<void> {
  await execute(
    session,
    `CREATE TRANSIENT SCHEMA ${writePlace(place)} DATA_RETENTION_TIME_IN_DAYS = 0`,
  ).catch((failure: unknown) => {
    if (!(failure instanceof Error) || !/insufficient privileges/i.test(failure.message)) throw failure;
    throw new Error(
      `the user "${username}" of the connection "${name}" may not create the schema of a test: GRANT CREATE SCHEMA ON DATABASE ${quoteName(place.database)} TO ROLE ${quoteName(role ?? '…')};`,
    );
  });
  const privileges = ['USAGE', ...objects.map((each) => `CREATE ${each}`)].join(', ');
  await execute(session, `GRANT ${privileges} ON SCHEMA ${writePlace(place)} TO ROLE ${quoteName(reader)}`);
}

export const dropScratchSchema = (session: SnowflakeSession, place: SnowflakeScratch): Promise<void> =>
  execute(session, `DROP SCHEMA IF EXISTS ${writePlace(place)} CASCADE`);

export const useScratchSchema = (session: SnowflakeSession, place: SnowflakeScratch): Promise<void> =>
  execute(session, `USE SCHEMA ${writePlace(place)}`);
