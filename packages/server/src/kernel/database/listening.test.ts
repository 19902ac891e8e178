/** The LISTEN connection recovers from every failure, and no waiter is forgotten. */
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createTestDatabase } from '../../../testing/database.ts';
import { findSocket, openDatabaseProxy } from '../../../testing/database-proxy.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import { createLog } from '../log.ts';
import { type Database, openDatabase } from './database.ts';
import { createWait, openWakes, type Wakes } from './wakes.ts';

const soon = 120_000;
const log = createLog('error', { write: () => undefined });
const database = await createTestDatabase();
const address = database.connection.connectionString ?? '';
const closing: (() => Promise<unknown>)[] = [];
// Servers of earlier tests would go on to open connections, which a busy machine makes slow.
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
after(() => database.drop());

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

async function countListeners(): Promise<number> {
  const found = await database.query(
    "select from pg_stat_activity where application_name = 'headgate listener' and datname = current_database()",
  );
  return found.length;
}

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
    assert.ok(await waiting.waitAtMost(soon, new AbortController().signal), 'waiters were not woken');
    // On a busy machine even a sound connection may not respond in time, and is opened again.
    assert.ok(forgotten > 0, 'cached knowledge is dropped');
    assert.ok(await isWoken(wakes, others, 'after'));
  });
}

test('the LISTEN connection is closed with its server', async () => {
  await waitUntil('the end of earlier ones', 120, async () => (await countListeners()) === 0);
  const { opened } = await openBehindProxy();
  const wakes = await openWakes(opened, log);
  await waitUntil('the connection', 120, async () => (await countListeners()) === 1);
  await wakes.close();
  await waitUntil('its end', 120, async () => (await countListeners()) === 0);
});
