/** The directory: an account with 100,000 users in 1,000 groups, compared with one with 100 users. */
import pg from 'pg';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import { uniqueNumber } from './request.ts';
import { type MeasuredServer, startServer } from './server-process.ts';
import type { Work } from './work.ts';

const scim = '/directory-integration/scim/v2';
const few = { users: 100, groups: 1 };
const many = { users: 100_000, groups: 1_000 };
const largeGroup = 10_000;
const requestsOfRound = 40;
const bulkSize = 1_000;
/** One by one is slow: a part is measured, and the rest is estimated from it. */
const oneByOne = 100;

export const directory: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
  const client = new pg.Client(server.connection);
  await client.connect();
  ending.defer(() => client.end());
  const rounds = Array.from({ length: settings.rounds });
  const measureAll = async (group: string) => {
    const times = { find: [] as number[], patch: [] as number[] };
    for (const _ of rounds) {
      times.find.push(await measureFind(server));
      times.patch.push(await measurePatch(server, group));
    }
    return times;
  };
  const small = await measureAll(await fill(client, few));
  const large = await measureAll(await fill(client, many));
  const whole = await fillLargeGroup(client);
  const listAll = (query: string) =>
    repeat(settings.rounds, () => time(() => server.call('GET', `${scim}/Groups${query}`)));
  const page = await listAll('');
  const names = await listAll('?count=1000&excludedAttributes=members');
  const all = await listAll('?count=1000');
  const read = await repeat(settings.rounds * requestsOfRound, () =>
    time(() => server.call('GET', `${scim}/Groups/${whole}?excludedAttributes=members`)),
  );
  const bulk = await repeat(settings.rounds, () => measureBulk(server));
  const ratio = (one: readonly number[], other: readonly number[]) =>
    one.map((each, index) => each / (other[index] ?? Number.NaN));
  return [
    atMost(
      'GET a user by userName among 100,000, against 100',
      ratio(large.find, small.find),
      1.5,
      '× the time',
    ),
    atMost(
      'PATCH one member, 100,000 users in 1,000 groups, against 100',
      ratio(large.patch, small.patch),
      1.5,
      '× the time',
    ),
    atMost('GET a group of 10,000 without its members', [median(read)], 5, 'ms'),
    atMost('GET groups: the page of 100, with 20,000 members', page, 600, 'ms'),
    atMost('GET 1,000 groups without their members', names, 600, 'ms'),
    atMost('GET 1,000 groups with 110,000 members', all, 600, 'ms'),
    atMost('Bulk of 1,000 users, against one by one', bulk, 0.2, '× the time'),
  ];
};

function atMost(work: string, rounds: number[], limit: number, unit: string): Finding {
  return {
    work,
    measured: `${spread(rounds)} ${unit}`,
    limit: `≤ ${limit} ${unit}`,
    verdict: verdictAtMost(median(rounds), limit),
    rounds,
  };
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function repeat(times: number, work: () => Promise<number>): Promise<number[]> {
  const results: number[] = [];
  for (let turn = 0; turn < times; turn++) results.push(await work());
  return results;
}

async function measureFind(server: MeasuredServer): Promise<number> {
  const filter = encodeURIComponent('userName eq "USER50@bench.example"');
  return median(
    await repeat(requestsOfRound, () => time(() => server.call('GET', `${scim}/Users?filter=${filter}`))),
  );
}

/** Adds and removes one member, so that each request changes something. */
async function measurePatch(server: MeasuredServer, group: string): Promise<number> {
  const made = await server.call('POST', `${scim}/Users`, { userName: `patched ${performance.now()}` });
  const value = [{ value: made.id }];
  const patch = (op: string) =>
    server.call('PATCH', `${scim}/Groups/${group}`, { Operations: [{ op, path: 'members', value }] });
  const times = await repeat(requestsOfRound, async () => {
    const adding = await time(() => patch('add'));
    return (adding + (await time(() => patch('remove')))) / 2;
  });
  await server.call('DELETE', `${scim}/Users/${made.id}`);
  return median(times);
}

async function measureBulk(server: MeasuredServer): Promise<number> {
  const user = (kind: string, index: number) => ({
    userName: `${kind} ${uniqueNumber} ${index} ${performance.now()}`,
  });
  const single = await time(async () => {
    for (let index = 0; index < oneByOne; index++)
      await server.call('POST', `${scim}/Users`, user('single', index));
  });
  const Operations = Array.from({ length: bulkSize }, (_, index) => {
    return { method: 'POST', path: '/Users', bulkId: String(index), data: user('bulk', index) };
  });
  const together = await time(() => server.call('POST', `${scim}/Bulk`, { Operations }));
  return together / ((single * bulkSize) / oneByOne);
}

/** Fills the account up to these numbers. Returns the id of a group with 100 members. */
async function fill(client: pg.Client, { users, groups }: typeof few): Promise<string> {
  await client.query(
    `insert into directory_user (account_id, user_id, user_name, user_name_key, display_name, active, attributes, version, created_at, updated_at)
    select a.account_id, md5('user' || n)::uuid, 'user' || n || '@bench.example', 'user' || n || '@bench.example', 'User ' || n, true, '{}', 1, now(), now()
    from account a, generate_series(1, $1::integer) n on conflict do nothing`,
    [users],
  );
  await client.query(
    `insert into directory_group (account_id, group_id, display_name, display_name_key, attributes, version, created_at, updated_at)
    select a.account_id, md5('group' || n)::uuid, 'Group ' || n, 'group ' || n, '{}', 1, now(), now()
    from account a, generate_series(1, $1::integer) n on conflict do nothing`,
    [groups],
  );
  await client.query(
    `insert into directory_member (account_id, group_id, user_id)
    select a.account_id, md5('group' || (1 + (n - 1) / 100))::uuid, md5('user' || n)::uuid
    from account a, generate_series(1, $1::integer) n on conflict do nothing`,
    [users],
  );
  await client.query('vacuum analyze directory_user, directory_group, directory_member');
  const { rows } = await client.query<{ group_id: string }>("select md5('group1')::uuid as group_id");
  return rows[0]?.group_id ?? '';
}

async function fillLargeGroup(client: pg.Client): Promise<string> {
  await client.query(
    `insert into directory_member (account_id, group_id, user_id)
    select a.account_id, md5('group2')::uuid, md5('user' || n)::uuid
    from account a, generate_series(1, $1::integer) n on conflict do nothing`,
    [largeGroup],
  );
  await client.query('vacuum analyze directory_member');
  const { rows } = await client.query<{ group_id: string }>("select md5('group2')::uuid as group_id");
  return rows[0]?.group_id ?? '';
}
