/** The LISTEN connection recovers from every failure, and no waiter is forgotten. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createTestDatabase } from '../../testing/database.ts';
import { findSocket, openDatabaseProxy } from '../../testing/database-proxy.ts';
import { createLog } from '../log.ts';
import { type Database, openDatabase } from './database.ts';
import { createWait, openWakes, type Wakes } from './wakes.ts';

const soon = 5_000;
const log = createLog('error', { write: () => undefined });
const database = await createTestDatabase();
const address = database.connection.connectionString ?? '';
const closing: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const close of closing.reverse()) await close();
  await database.drop();
});

async function openBehindProxy() {
  const proxy = await openDatabaseProxy(findSocket(address));
  closing.push(() => proxy.close());
  const opened = openDatabase({
    connection: proxy.makeConnection(address),
    connections: 2,
    patienceMilliseconds: 300,
    keepAliveMilliseconds: 100,
    onConnectionError: () => undefined,
  });
  closing.push(() => opened.close());
  return { proxy, opened };
}

async function openWakesOn(opened: Database): Promise<Wakes> {
  const wakes = await openWakes(opened, log);
  closing.push(() => wakes.close());
  return wakes;
}

/** Whether another server wakes a waiter of this one. */
async function isWoken(wakes: Wakes, other: Wakes, key: string): Promise<boolean> {
  const until = performance.now() + soon;
  while (performance.now() < until) {
    let woken = false;
    const wait = createWait(wakes, key);
    wakes.wait(key, {
      number: 0,
      wake: () => {
        woken = true;
        wait.wake();
      },
    });
    other.wake(key, 'all');
    await wait.waitAtMost(200, new AbortController().signal);
    wait.end();
    if (woken) return true;
  }
  return false;
}

const backends = (name: string) =>
  database.query<{ pid: number }>(
    'select pid from pg_stat_activity where application_name = $1 and datname = current_database()',
    [name],
  );

test('a server starts when its first attempt to listen fails, and listens later', async () => {
  const { proxy, opened } = await openBehindProxy();
  proxy.refuse(true);
  const wakes = await openWakesOn(opened);
  proxy.refuse(false);
  const { opened: other } = await openBehindProxy();
  assert.ok(await isWoken(wakes, await openWakesOn(other), 'late'));
});

for (const [how, befall] of [
  ['is cut', (proxy) => proxy.breakConnections()],
  ['falls silent without a word', (proxy) => proxy.silence()],
  [
    'is cut, and cannot be opened again for a while',
    async (proxy) => {
      proxy.refuse(true);
      proxy.breakConnections();
      const before = proxy.accepted();
      while (proxy.accepted() < before + 2) await delay(20);
      proxy.refuse(false);
    },
  ],
] as const satisfies [string, (proxy: Awaited<ReturnType<typeof openDatabaseProxy>>) => unknown][]) {
  test(`when the connection ${how}, wake-ups resume and waiters check again`, async () => {
    const { proxy, opened } = await openBehindProxy();
    const { opened: other } = await openBehindProxy();
    const [wakes, others] = [await openWakesOn(opened), await openWakesOn(other)];
    assert.ok(await isWoken(wakes, others, 'before'));
    let forgotten = 0;
    wakes.listen((key) => {
      if (key === undefined) forgotten += 1;
    });
    const waiting = createWait(wakes, 'waits during the failure');
    await befall(proxy);
    const began = performance.now();
    await waiting.waitAtMost(soon, new AbortController().signal);
    assert.ok(performance.now() - began < soon - 100, 'waiters were not woken');
    assert.equal(forgotten, 1, 'cached knowledge is dropped');
    assert.ok(await isWoken(wakes, others, 'after'));
  });
}

test('the LISTEN connection is closed with its server', async () => {
  const { opened } = await openBehindProxy();
  const before = (await backends('headgate listener')).length;
  const wakes = await openWakes(opened, log);
  assert.equal((await backends('headgate listener')).length, before + 1);
  await wakes.close();
  for (let tries = 0; (await backends('headgate listener')).length > before; tries += 1) {
    assert.ok(tries < 100, 'it is still open');
    await delay(20);
  }
});
