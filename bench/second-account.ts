/** Creates more accounts on the measured server, with the operators' command. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { cleanEnvironment, type MeasuredServer, tokenFor } from './server-process.ts';

const command = fileURLToPath(
  new URL('../packages/server/src/main/commands/new-account.ts', import.meta.url),
);

export interface AccountOfBench {
  accountId: string;
  /** Token of a Super Admin of the account. */
  token: string;
}

export async function anotherAccount(server: MeasuredServer, name: string): Promise<AccountOfBench> {
  const env = cleanEnvironment({ HEADGATE_DATA_DIR: server.dataDirectory, HEADGATE_LOCAL_AGENT: 'off' });
  const { stdout } = await promisify(execFile)(process.execPath, [command, name], { env });
  const [, file = ''] = /^credential +(.+)$/m.exec(stdout) ?? [];
  const { clientId, clientSecret } = JSON.parse(await readFile(file, 'utf8'));
  const token = await tokenFor(server.port, clientId, clientSecret);
  return { accountId: await idOf(server, name), token };
}

async function idOf(server: MeasuredServer, name: string): Promise<string> {
  const client = new pg.Client(server.connection);
  await client.connect();
  try {
    const { rows } = await client.query<{ account_id: string }>(
      'select account_id from account where name = $1',
      [name],
    );
    return rows[0]?.account_id ?? '';
  } finally {
    await client.end();
  }
}
