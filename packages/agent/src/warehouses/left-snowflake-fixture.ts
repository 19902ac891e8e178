/**
 * A process that runs a statement of an hour, to be killed. Its argument is the folder of its records and the target.
 */
import { parseEgressAllow } from '@headgate/contract/egress';
import { Secret } from '@headgate/contract/without-schemas';
import { createSessionRecords } from './left-sessions.ts';
import { createSnowflakeDriver } from './snowflake.ts';

const { folder, connection, tag, secrets, places } = JSON.parse(process.argv[2] ?? '');
const driver = createSnowflakeDriver({
  allow: parseEgressAllow(['127.0.0.0/8']),
  records: createSessionRecords(folder),
});
const session = await driver.connect({
  connection,
  tag,
  readSecret: async (name) => new Secret(secrets[name]),
  places: new Map(Object.entries(places)),
});
await session.execute('select system$wait(3600)');
