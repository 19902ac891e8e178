import pg from 'pg';

/** A connection of its own for the time of `work`: a whole table takes longer than any request may. */
export async function onOneConnection<Result>(
  connection: pg.ClientConfig,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ ...connection, application_name: 'headgate backup' });
  // A connection that breaks fails the statement under way; without a listener it would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    // What is written as text by one session is read by another.
    await client.query("set datestyle = 'ISO'; set intervalstyle = 'postgres'; set bytea_output = 'hex'");
    await client.query("set timezone = 'UTC'; set extra_float_digits = 1; set statement_timeout = 0");
    return await work(client);
  } finally {
    await client.end();
  }
}
