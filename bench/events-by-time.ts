/** Events of an account by time: with a million events, compared with an account that has a thousand. */
import pg from 'pg';
import { compare, type Side } from './comparison.ts';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import { startLoadGenerator } from './load.ts';
import { requestText } from './request.ts';
import { type AccountOfBench, anotherAccount } from './second-account.ts';
import { startServer } from './server-process.ts';
import type { Work } from './work.ts';

const many = 1_000_000;
const few = 1_000;
const connections = 16;
/** A thousand events in this time, in both accounts, as in a busy account. */
const thousandSeconds = 3_600;

export const eventsByTime: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
  const load = ending.adopt(await startLoadGenerator(), (generator) => generator.stop());
  const [large, small] = [await anotherAccount(server, 'large'), await anotherAccount(server, 'small')];
  const client = new pg.Client(server.connection);
  await client.connect();
  ending.defer(() => client.end());
  const latest = new Date();
  await fillEvents(client, large, latest, many);
  await fillEvents(client, small, latest, few);
  await client.query('vacuum analyze event');

  const side = (name: string, { token }: AccountOfBench, from: Date): Side => {
    const range = `from=${from.toISOString()}&to=${new Date(latest.getTime() + 1_000).toISOString()}`;
    const requests = [requestText('GET', `/dpc/v1/events?${range}`, { token })];
    return { name, port: server.port, pid: server.pid, requests };
  };
  const compared = { ...settings, connections, dataDirectory: server.dataDirectory };
  const hour = new Date(latest.getTime() - thousandSeconds * 1_000);
  const ever = new Date(latest.getTime() - (many / 1_000 + 1) * thousandSeconds * 1_000);
  const found: Finding[] = [];
  for (const [range, from] of [
    ['the last hour', hour],
    ['all of them', ever],
  ] as const) {
    const sides = [
      side(`${range}, of ${few}`, small, from),
      side(`${range}, of ${many}`, large, from),
    ] as const;
    const ratios = await compare(load, sides, compared);
    found.push({
      work: `GET events, ${range}: in 1,000,000 against in 1,000`,
      measured: `${spread(ratios)} × the time`,
      limit: '≤ 1.5 × the time',
      verdict: verdictAtMost(median(ratios), 1.5),
      rounds: ratios,
    });
  }
  return found;
};

async function fillEvents(
  client: pg.Client,
  { accountId }: AccountOfBench,
  latest: Date,
  count: number,
): Promise<void> {
  await client.query(
    `insert into event (account_id, occurred_at, event_id, name, actor_id, actor_kind, request_id, project_id,
       subject_type, subject_id, subject_name, state_before, state_after)
     select $1, $2::timestamptz - make_interval(secs => n * $3::float8 / 1000), gen_random_uuid(), 'variable-updated', gen_random_uuid(),
       'credential', gen_random_uuid(), gen_random_uuid(), 'variable', n::text, 'variable_' || n,
       '{"name": "city", "value": "Oslo"}', '{"name": "city", "value": "Bergen"}'
     from generate_series(0, $4::integer - 1) n`,
    [accountId, latest, thousandSeconds, count],
  );
}
