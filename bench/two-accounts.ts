/** A list in an account with a million rows, compared with one that has a thousand. */
import pg from 'pg';
import { startLoadGenerator } from './load.ts';
import { type AccountOfBench, anotherAccount } from './second-account.ts';
import { startServer } from './server-process.ts';
import type { WorkSettings } from './work.ts';

export const many = 1_000_000;
export const few = 1_000;

type Fill = (client: pg.Client, account: AccountOfBench, latest: Date, count: number) => Promise<void>;

/** @param fill inserts this many rows into the table, the newest at this moment */
export async function openTwoAccounts(
  ending: AsyncDisposableStack,
  {
    settings,
    connections,
    table,
    fill,
  }: { settings: WorkSettings; connections: number; table: string; fill: Fill },
) {
  const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
  const load = ending.adopt(await startLoadGenerator(), (generator) => generator.stop());
  const [large, small] = [await anotherAccount(server, 'large'), await anotherAccount(server, 'small')];
  const client = new pg.Client(server.connection);
  await client.connect();
  ending.defer(() => client.end());
  const latest = new Date();
  await fill(client, large, latest, many);
  await fill(client, small, latest, few);
  await client.query(`vacuum analyze ${table}`);
  const compared = { ...settings, connections, dataDirectory: server.dataDirectory };
  return { server, load, client, large, small, latest, compared };
}
