/** Events of an account by time: with a million events, compared with an account that has a thousand. */
import type pg from 'pg';
import { compare, type Side } from './comparison.ts';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import { requestText } from './request.ts';
import type { AccountOfBench } from './second-account.ts';
import { few, many, openTwoAccounts } from './two-accounts.ts';
import type { Work } from './work.ts';

const connections = 16;
/** A thousand events in this time, in both accounts, as in a busy account. */
const thousandSeconds = 3_600;

export const eventsByTime: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const { server, load, large, small, latest, compared } = await openTwoAccounts(ending, {
    settings,
    connections,
    table: 'event',
    fill: fillEvents,
  });

  const side = (name: string, { token }: AccountOfBench, from: Date): Side => {
    const range = `from=${from.toISOString()}&to=${new Date(latest.getTime() + 1_000).toISOString()}`;
    const requests = [requestText('GET', `/dpc/v1/events?${range}`, { token })];
    return { name, port: server.port, pid: server.pid, requests };
  };
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
