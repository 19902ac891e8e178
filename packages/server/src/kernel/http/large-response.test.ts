/** Large responses are rendered in slices, and have a limit: no page of large values takes the server's memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { renderJson } from './render-json.ts';

const server = await startTestServer();
const { admin, ...account } = await server.account();
const { path, projectId } = await account.project();

/** Ten million characters in each of seven variables. */
async function storeLargeVariables(): Promise<void> {
  const value = { columns: [{ name: 'c', type: 'TEXT' }], rows: [] };
  await admin.post(`${path}/variables`, { name: 'large0', type: 'GRID', behaviour: 'SHARED', value });
  await server.database.query(
    `insert into variable
     select (jsonb_populate_record(v, jsonb_build_object('name', 'large' || n, 'variable_id', gen_random_uuid(), 'value',
       jsonb_set(v.value, '{rows}', (select jsonb_agg(jsonb_build_array(repeat('x', 50000))) from generate_series(1, 200)))))).*
     from variable v cross join generate_series(1, 7) n where v.project_id = $1`,
    [projectId],
  );
}

test('a page of more than 64 MiB is refused with a way to read it; smaller pages and the next ones are answered', async () => {
  await storeLargeVariables();
  const list = (query: string) => admin.get<{ results: unknown[] }>(`${path}/variables?${query}`);
  const { detail } = requireProblem(await list('size=100'), 422, 'response-too-large');
  assert.match(detail, /smaller `size`/);
  const [first, second] = [await list('size=2'), await list('size=2&page=1')];
  assert.equal(first.body.results.length, 2);
  assert.equal(second.body.results.length, 2);
});

test('a log of large events is read in smaller parts', async () => {
  for (let index = 0; index < 5; index++)
    await admin.post(`${path}/tags`, { name: `tag-${index}`, value: 'x' });
  await server.database.query(
    `update event set state_after = jsonb_build_object('name', repeat('x', 30000000))
     where account_id = $1 and name = 'project-tag-created'`,
    [account.accountId],
  );
  const seen: string[] = [];
  let cursor = 'oldest';
  for (let hasMore = true; hasMore; ) {
    const { body } = await admin.get<{
      results: { eventId: string; eventName: string }[];
      cursor: string;
      hasMore: boolean;
    }>(`/events?after=${cursor}&limit=60`);
    const large = body.results.filter(({ eventName }) => eventName === 'project-tag-created');
    assert.ok(large.length < 5, 'one part does not hold all large events');
    seen.push(...body.results.map(({ eventId }) => eventId));
    ({ cursor, hasMore } = body);
  }
  const stored = await server.database.query('select from event where account_id = $1', [account.accountId]);
  assert.equal(new Set(seen).size, stored.length);
});

test('a response is the text of JSON.stringify', async () => {
  const bodies = [
    {},
    [],
    [1, undefined, 'x'],
    { results: [], size: 25 },
    {
      absent: undefined,
      'a "b"': null,
      results: [{ at: new Date(0), absent: undefined }, [1]],
      n: { m: [2] },
    },
  ];
  for (const body of bodies) assert.equal(await renderJson(body), JSON.stringify(body));
});

test('other work has its turn while a large response is rendered', async () => {
  const item = Array.from({ length: 300_000 }, (_, index) => String(index));
  const rendering = renderJson({ results: Array.from({ length: 20 }, () => item) });
  let turns = 0;
  const counting = setInterval(() => (turns += 1), 0);
  await rendering;
  clearInterval(counting);
  assert.ok(turns >= 5, `${turns} turns`);
});
