/**
 * A process that runs a statement of an hour, to be killed. Its argument is the folder of its records and the target;
 * `isTest`: in the schema of a test.
 */
import type { SecretCoordinates } from '@headgate/contract';
import { parseEgressAllow } from '@headgate/contract/egress';
import { Secret } from '@headgate/contract/without-schemas';
import { createSessionRecords } from './left-sessions.ts';
import { createSnowflakeDriver } from './snowflake.ts';

const { folder, connection, tag, secrets, places, isTest } = JSON.parse(process.argv[2] ?? '');
const driver = createSnowflakeDriver({
  allow: parseEgressAllow(['127.0.0.0/8']),
  records: createSessionRecords(folder),
});
const opened = {
  connection,
  tag,
  readSecret: async (name: string) => new Secret(secrets[name]),
  places: new Map<string, SecretCoordinates>(Object.entries(places)),
};
const session = isTest ? (await driver.connectScratch(opened)).warehouse : await driver.connect(opened);
if (isTest) await session.execute('create table rows_of_test (id integer)');
await session.execute('select system$wait(3600)');
