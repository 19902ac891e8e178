/**
 * The smallest allowed number of database connections suffices for everything, even for many concurrent
 * requests.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { operations } from '@headgate/contract';
import pg from 'pg';
import { createInstance } from '../../testing/agent.ts';
import { requireProblem } from '../../testing/client.ts';
import { createExecution } from '../../testing/executions.ts';
import { examples, protocolExamples, sortGuards, takesPlaceAway } from '../../testing/guards.ts';
import { createPlace } from '../../testing/place.ts';
import { startTestServer } from '../../testing/server.ts';
import { createCollector } from '../delivery/blobs/collector.ts';
import { isUnavailable, statement, typed } from '../kernel/database/database.ts';
import { analyzeGrownTables } from '../kernel/database/statistics.ts';
import { applyRetention, type Rest } from '../kernel/retention/retention.ts';
import { eventRetention } from '../records/events/event.retention.ts';
import { createExecutionRetention } from '../runtime/executions/execution.retention.ts';

const server = await startTestServer({ settings: { HEADGATE_DATABASE_CONNECTIONS: '2' } });
const noRest: Rest = async () => undefined;

test('every operation succeeds', async () => {
  const place = await createPlace(await server.account());
  let sent = 0;
  for (const [id, example] of Object.entries(protocolExamples)) {
    const { path, ...asked } = await example(place);
    const method = operations.find((operation) => operation.id === id)?.method ?? 'POST';
    const answer = await place.agent.client.send(method, path, asked);
    assert.ok(answer.status < 300, `${id}: ${answer.text}`);
    sent += 1;
  }
  for (const { id, method } of sortGuards(operations.filter((each) => each.id in examples))) {
    // Nothing else succeeds in a place that it takes away.
    const at = takesPlaceAway({ id }) ? await createPlace(await server.account()) : place;
    const { path, ...asked } = await (examples[id] ?? assert.fail(id))(at);
    const answer = await at.account.admin.send(method, path, {
      ...asked,
      headers: { ...asked.headers, 'idempotency-key': id },
    });
    assert.ok(answer.status < 300, `${id}: ${answer.text}`);
    sent += 1;
  }
  assert.ok(sent > 70, `only ${sent}`);
});

test('periodic jobs that hold a lock leave connections for requests', async () => {
  const { deps, clock } = server;
  const { admin } = await server.account();
  const rules = [...createExecutionRetention({ executionDays: 1, logDays: 1 }), eventRetention(1)];
  clock.advance(3 * 86_400);
  let rests = 0;
  const rest: Rest = async () => {
    rests += 1;
    assert.equal((await admin.get('/projects')).status, 200);
  };
  const [removed, collected] = await Promise.all([
    applyRetention(deps, rules, clock.now(), rest),
    createCollector(deps).collect(rest),
  ]);
  assert.ok(removed > 0 && collected !== undefined && rests > 0);
  assert.equal(
    await createCollector(deps)
      .collect(noRest)
      .then((pass) => pass !== undefined),
    true,
    'the lock is free again',
  );
});

test('grown tables are analyzed on a separate connection', async () => {
  const { admin } = await server.account();
  const { query } = server.database;
  await query(`create table grown with (autovacuum_enabled = false) as select generate_series(1, 50000)`);
  // It lasts as long as the test holds the lock, as on large tables.
  await query(`create or replace function analyze_grown_tables() returns integer language sql as
    'select pg_advisory_xact_lock(4711); select 1'`);
  const holder = new pg.Client(server.database.connection);
  await holder.connect();
  await holder.query('select pg_advisory_lock(4711)');
  const analyzing = analyzeGrownTables(server.deps.database);
  const waits = `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`;
  while ((await query(waits)).length === 0) await delay(10);
  assert.equal((await admin.get('/projects')).status, 200);
  await holder.end();
  assert.equal(await analyzing, 1);
});

test('none of many concurrent requests is refused', async () => {
  const place = await createPlace(await server.account());
  const { admin } = place.account;
  const variables = `${place.project.path}/variables`;
  const began = performance.now();
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, number) => {
      const body = { name: `v${number}`, type: 'TEXT', behaviour: 'SHARED' };
      if (number % 3 === 0) return admin.post(variables, body);
      if (number % 3 === 1) return admin.get(`${variables}?size=5`);
      return admin.post('/projects', { name: place.named('many'), warehouse: 'DUCKDB' });
    }),
  );
  const refused = answers.filter(({ status }) => status >= 500);
  assert.deepEqual(
    refused.map(({ text }) => text),
    [],
    `after ${Math.round(performance.now() - began)} ms`,
  );
  const instance = createInstance(place.agent);
  // The share of an environment is half of the places.
  await instance.hello({ concurrency: 80 });
  const started = await Promise.all(Array.from({ length: 40 }, () => createExecution(place)));
  const claims = await Promise.all(Array.from({ length: 8 }, () => instance.claim(10)));
  const works = claims.flatMap(({ work }) => work);
  assert.equal(works.length, started.length);
  const beats = await Promise.all(works.map((work) => instance.heartbeat(work)));
  assert.ok(beats.flat().every(({ state }) => state === 'held'));
  const outcomes = await Promise.all(
    works.map((work) => instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } })),
  );
  assert.ok(outcomes.every(({ accepted }) => accepted));
});

const sleeps = statement(
  { parameters: { seconds: 'double precision' }, row: { slept: typed<string>('void') }, alone: true },
  'select pg_sleep($seconds::float8) as slept',
);
const failsWith = (code: string) => statement({}, `select refuse('${code}')`);

for (const code of ['08006', '25006', '53300', '55P03', '57014', '57P01', '57P03']) {
  const failing = failsWith(code);
  test(`SQLSTATE ${code} means that the database is unavailable`, async () => {
    await assert.rejects(server.deps.database.read(failing, {}), (failure) => isUnavailable(failure));
    const holding = server.deps.database.transaction((tx) => tx.query(failing, {}));
    await assert.rejects(holding, (failure) => isUnavailable(failure));
    assert.equal(
      (await server.deps.database.read(sleeps, { seconds: 0 })).length,
      1,
      'the next one has a connection',
    );
  });
}

/** Locks all variables, so that reads wait. */
async function whileVariablesAreLocked(work: () => Promise<void>): Promise<void> {
  const client = new pg.Client(server.database.connection);
  await client.connect();
  try {
    await client.query('begin; lock table variable in access exclusive mode');
    await work();
  } finally {
    await client.end();
  }
}

test('a request whose statement is cancelled, for example by a timeout, gets 503 with Retry-After', async () => {
  const { admin, project } = await server.account();
  const { path } = await project();
  await whileVariablesAreLocked(async () => {
    const response = admin.get(`${path}/variables`);
    const cancel = `
      select pg_cancel_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'headgate' and wait_event_type = 'Lock'`;
    while ((await server.database.query(cancel)).length === 0) await delay(10);
    requireProblem(await response, 503, 'database-unavailable');
    assert.ok((await response).headers['retry-after']);
  });
});

test('a request whose statement fails to get a lock gets 503 with Retry-After', async () => {
  const [{ name } = { name: '' }] = await server.database.query<{ name: string }>(
    'select current_database() as name',
  );
  await server.database.query(`alter database ${name} set lock_timeout = '100ms'`);
  const { admin, project } = await (await startTestServer({ database: server.database })).account();
  const { path } = await project();
  await whileVariablesAreLocked(async () => {
    const answer = await admin.get(`${path}/variables`);
    requireProblem(answer, 503, 'database-unavailable');
    assert.ok(answer.headers['retry-after']);
  });
});
