import pg from 'pg';

/**
 * Opens a connection for `work` without the statement timeout: copying a table takes longer than any
 * request.
 */
export async function withConnection<Result>(
  connection: pg.ClientConfig,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ ...connection, application_name: 'headgate backup' });
  // A broken connection already fails the current statement; without a listener it would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    // Another session reads the text that this one writes.
    await client.query("set datestyle = 'ISO'; set intervalstyle = 'postgres'; set bytea_output = 'hex'");
    await client.query("set timezone = 'UTC'; set extra_float_digits = 1; set statement_timeout = 0");
    return await work(client);
  } finally {
    await client.end();
  }
}
