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
  const start = async (size: typeof few) => {
    const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
    const client = new pg.Client(server.connection);
    await client.connect();
    ending.defer(() => client.end());
    return { server, client, group: await fill(client, size) };
  };
  const [small, large] = [await start(few), await start(many)];
  const { server } = large;
  const [find, patch]: [number[], number[]] = [[], []];
  for (let round = 0; round < settings.rounds; round++) {
    find.push(await compareInTurn((side) => measureFind(side.server), [large, small]));
    patch.push(await compareInTurn((side) => measurePatch(side.server, side.group), [large, small]));
  }
  const whole = await fillLargeGroup(large.client);
  const listAll = (query: string) =>
    repeat(settings.rounds, () => time(() => readBytes(server, `${scim}/Groups${query}`)));
  const page = await listAll('');
  const names = await listAll('?count=1000&excludedAttributes=members');
  const all = await listAll('?count=1000');
  const read = await repeat(settings.rounds * requestsOfRound, () =>
    time(() => server.call('GET', `${scim}/Groups/${whole}?excludedAttributes=members`)),
  );
  const bulk = await repeat(settings.rounds, () => measureBulk(server));
  return [
    atMost('GET a user by userName among 100,000, against 100', find, 1.5, '× the time'),
    atMost('PATCH one member, 100,000 users in 1,000 groups, against 100', patch, 1.5, '× the time'),
    atMost('GET a group of 10,000 without its members', [median(read)], 5, 'ms'),
    atMost('GET groups: the page of 100, with 20,000 members', page, 600, 'ms'),
    atMost('GET 1,000 groups without their members', names, 600, 'ms'),
    atMost('GET 1,000 groups with 110,000 members', all, 600, 'ms'),
    atMost('Bulk of 1,000 users, against one by one', bulk, 0.2, '× the time'),
  ];
};

/** The ratio of the medians. The sides take turns, so that other load of the machine affects both. */
async function compareInTurn<Side>(
  measure: (side: Side) => Promise<number>,
  [one, other]: readonly [Side, Side],
): Promise<number> {
  const times: [number[], number[]] = [[], []];
  for (let turn = 0; turn < requestsOfRound; turn++) {
    times[0].push(await measure(one));
    times[1].push(await measure(other));
  }
  return median(times[0]) / median(times[1]);
}

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

/** Without parsing, which would take this process as long as the server takes. */
async function readBytes({ port, token }: MeasuredServer, path: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'accept-encoding': 'identity' };
  const answer = await fetch(`http://127.0.0.1:${port}/dpc/v1${path}`, { headers });
  if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${await answer.text()}`);
  for await (const _ of answer.body ?? []);
}

async function repeat(times: number, work: () => Promise<number>): Promise<number[]> {
  const results: number[] = [];
  for (let turn = 0; turn < times; turn++) results.push(await work());
  return results;
}

function measureFind(server: MeasuredServer): Promise<number> {
  const filter = encodeURIComponent('userName eq "USER50@bench.example"');
  return time(() => server.call('GET', `${scim}/Users?filter=${filter}`));
}

/** Adds and removes one member, so that each request changes something. */
async function measurePatch(server: MeasuredServer, group: string): Promise<number> {
  const made = await server.call('POST', `${scim}/Users`, { userName: `patched ${performance.now()}` });
  const value = [{ value: made.id }];
  const patch = (op: string) =>
    server.call('PATCH', `${scim}/Groups/${group}`, { Operations: [{ op, path: 'members', value }] });
  const adding = await time(() => patch('add'));
  const removing = await time(() => patch('remove'));
  await server.call('DELETE', `${scim}/Users/${made.id}`);
  return (adding + removing) / 2;
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
  // Without statistics, each check of a foreign key below would read the whole table.
  await client.query('analyze directory_user, directory_group');
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
