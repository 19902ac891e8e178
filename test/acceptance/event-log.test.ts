/**
 * Two servers on one database write events while servers are killed. A reader that connects again at random, to
 * either server, gets each event once, and two events of the same row in the order of their commits.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { roundsOr, testSeed as seed } from '@headgate/contract/testing/rounds';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../packages/server/testing/database.ts';
import { followEvents } from '../../packages/server/testing/followed-events.ts';
import { seededRandom } from '../../packages/server/testing/seeded-random.ts';
import type { ApiClient } from './harness/client.ts';
import { Installation } from './harness/installation.ts';
import { Project } from './harness/project.ts';

const writers = 16;
const rounds = roundsOr(1);

interface Seen {
  cursor: string;
  eventId: string;
  subject: string;
}

describe(`the event log (TEST_SEED=${seed})`, () => {
  let database: TestDatabase;
  const servers: Installation[] = [];
  const clients: ApiClient[] = [];
  let project: Project;
  let accountId: string;
  const direct: pg.Client[] = [];
  const random = seededRandom(seed);
  const pick = <Item>(items: readonly Item[]): Item =>
    items[Math.floor(random() * items.length)] ?? assert.fail('nothing to choose from');

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: database.url });
    client.on('error', () => undefined);
    await client.connect();
    direct.push(client);
    return client;
  }

  before(async () => {
    database = await createTestDatabase();
    const secret = `secret-of-both-${randomBytes(12).toString('hex')}`;
    const environment = {
      DATABASE_URL: database.url,
      HEADGATE_MASTER_KEY: randomBytes(32).toString('base64'),
      HEADGATE_PUBLIC_URL: 'http://headgate.test',
      HEADGATE_CLIENT_ID: 'operator',
      HEADGATE_CLIENT_SECRET: secret,
      HEADGATE_LOCAL_AGENT: 'off',
      HEADGATE_RATE_LIMIT: 'off',
    };
    for (const _ of ['one', 'other']) {
      const server = await Installation.create({ environment });
      await server.start('node');
      servers.push(server);
      clients.push(server.client('operator', secret));
    }
    project = await Project.create(pick(clients));
    const { rows } = await (await connect()).query<{ account_id: string }>('select account_id from account');
    accountId = rows[0]?.account_id ?? assert.fail('no account');
  });
  after(async () => {
    for (const client of direct) await client.end();
    for (const server of servers) await server.remove();
    await database.drop();
  });

  /** Each writer creates, changes and deletes variables of its own at either server. */
  async function write(writer: number, stopping: AbortSignal): Promise<void> {
    for (let number = 0; !stopping.aborted; number += 1) {
      const path = `${project.path}/variables`;
      const one = { name: `w${writer}_${number}`, type: 'TEXT', behaviour: 'SHARED' };
      const give = () => undefined;
      const client = clients[(writer + number) % clients.length] ?? assert.fail();
      const other = clients[(writer + number + 1) % clients.length] ?? assert.fail();
      await client.insist('POST', path, { body: one, key: randomUUID() }, give);
      await other.insist('PATCH', `${path}/${one.name}`, { body: { ...one, behaviour: 'COPIED' } }, give);
      await client.insist('DELETE', `${path}/${one.name}`, {}, give);
    }
  }

  /** Transactions that take longer than many others, with an event each. */
  async function writeSlowly(stopping: AbortSignal): Promise<number> {
    const client = await connect();
    let count = 0;
    for (; !stopping.aborted; count += 1) {
      await client.query('begin');
      await client.query(
        `insert into event (account_id, occurred_at, event_id, name, actor_kind, subject_type, subject_id)
         values ($1, now(), $2, 'variable-created', 'system', 'slow', $3)`,
        [accountId, randomUUID(), String(count)],
      );
      await delay(300 + random() * 1_200);
      await client.query('commit');
    }
    return count;
  }

  async function killServers(): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      await delay(500 + random() * 1_500);
      const server = pick(servers);
      await server.kill((await server.process('server')).pid);
      await server.start('node');
    }
  }

  /** Reads until the log has ended after `stopping`, and connects again after a random number of events. */
  async function read(seen: Seen[], stopping: AbortSignal): Promise<void> {
    let cursor = 'oldest';
    for (;;) {
      const isLast = stopping.aborted;
      const before = seen.length;
      try {
        const index = Math.floor(random() * clients.length);
        const token = await takeToken(clients[index] ?? assert.fail());
        const query = `seconds=${isLast ? 0 : 2}&after=oldest`;
        const lastEventId = cursor === 'oldest' ? undefined : cursor;
        const address = servers[index]?.url ?? assert.fail();
        const stream = await followEvents(address, { token, query, lastEventId });
        assert.equal(stream.answer.status, 200);
        let left = 1 + random() * 400;
        let end: string | undefined;
        for (let next = await stream.next(); next !== undefined; next = await stream.next()) {
          end = next.data.reason;
          if (next.id === undefined) break;
          cursor = next.id;
          const { eventId, eventName, eventSubjectType, eventSubjectName, eventSubjectId } = next.data;
          const subject = `${eventSubjectType} ${eventSubjectName ?? eventSubjectId} ${eventName}`;
          seen.push({ cursor, eventId, subject });
          left -= 1;
          if (left <= 0 && !isLast) break;
        }
        await stream.cancel();
        if (isLast && end === 'time-over' && seen.length === before) return;
      } catch {
        // The server is down.
        await delay(50);
      }
    }
  }

  async function takeToken(client: ApiClient): Promise<string> {
    await client.ask('GET', '/v1/me');
    return client.tokens.at(-1) ?? assert.fail('no token');
  }

  it(`is read completely, once and in order, through ${rounds} kills`, {
    timeout: 600_000 + rounds * 20_000,
  }, async () => {
    const stopping = new AbortController();
    const outcome = new AbortController();
    const readers = Array.from({ length: 3 }, () => [] as Seen[]);
    const reading = Promise.all(readers.map((seen) => read(seen, outcome.signal)));
    const writing = Promise.all(
      Array.from({ length: writers }, (_, writer) => write(writer, stopping.signal)),
    );
    const slow = writeSlowly(stopping.signal);
    await killServers();
    stopping.abort();
    await writing;
    const slowCount = await slow;
    outcome.abort();
    await reading;

    const { rows } = await (direct[0] ?? assert.fail()).query<{ event_id: string; position: number }>(
      'select event_id, position::integer as position from event order by position',
    );
    assert.deepEqual(
      rows.map(({ position }) => position),
      rows.map((_, index) => index + 1),
      'positions without gaps',
    );
    assert.ok(rows.length > 3 * writers && slowCount > 2, `${rows.length} events, ${slowCount} slow`);
    const ids = rows.map(({ event_id }) => event_id);
    for (const seen of readers) {
      assert.deepEqual(
        seen.map(({ eventId }) => eventId),
        ids,
      );
      requireOrder(seen);
    }
  });
});

/** A variable is created before it is changed, and changed before it is deleted. */
function requireOrder(seen: readonly Seen[]): void {
  const steps = new Map<string, string[]>();
  for (const { subject } of seen) {
    const found = /^variable (w\d+_\d+) variable-(\w+)$/.exec(subject);
    if (found?.[1] === undefined || found[2] === undefined) continue;
    steps.set(found[1], [...(steps.get(found[1]) ?? []), found[2]]);
  }
  for (const [name, words] of steps) {
    const order = [...new Set(words)];
    assert.deepEqual(order, ['created', 'updated', 'deleted'].slice(0, order.length), `${name}: ${words}`);
  }
}
