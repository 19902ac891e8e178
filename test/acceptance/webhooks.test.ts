/** Webhooks of two servers that are killed: the receiver misses no event, and gets them in the order of the log. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../packages/server/testing/database.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { Installation } from './harness/installation.ts';
import { signal } from './harness/processes.ts';
import { Project } from './harness/project.ts';

const events = 400;
const writers = 4;

describe('webhooks of two servers', () => {
  let database: TestDatabase;
  let direct: pg.Client;
  const servers: Installation[] = [];
  const clients: ApiClient[] = [];
  let receiver: Server;
  /** The `webhook-id` of each request, in their order. */
  const received: string[] = [];

  before(async () => {
    database = await createTestDatabase();
    direct = new pg.Client({ connectionString: database.url });
    direct.on('error', () => undefined);
    await direct.connect();
    const secret = `secret-of-both-${randomBytes(12).toString('hex')}`;
    const environment = {
      DATABASE_URL: database.url,
      HEADGATE_MASTER_KEY: randomBytes(32).toString('base64'),
      HEADGATE_PUBLIC_URL: 'http://headgate.test',
      HEADGATE_CLIENT_ID: 'operator',
      HEADGATE_CLIENT_SECRET: secret,
      HEADGATE_LOCAL_AGENT: 'off',
      HEADGATE_EGRESS_ALLOW: '127.0.0.1',
      HEADGATE_WEBHOOK_TIMEOUT_SECONDS: '1',
    };
    for (let count = 0; count < 2; count += 1) {
      const server = await Installation.create({ environment });
      await server.start();
      servers.push(server);
      clients.push(server.client('operator', secret));
    }
    receiver = createServer((request, response) => {
      request.resume().on('end', () => {
        received.push(String(request.headers['webhook-id']));
        // Slow enough to be killed in between.
        setTimeout(() => response.writeHead(204).end(), 20);
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  });
  after(async () => {
    receiver.closeAllConnections();
    receiver.close();
    for (const server of servers) await server.remove();
    await direct.end();
    await database.drop();
  });

  it('send each event, in order, although each server is killed while it sends', async () => {
    const [one, other] = servers;
    const [atOne, atOther] = clients;
    assert.ok(one && other && atOne && atOther);
    const project = await Project.create(atOne);
    const { port } = receiver.address() as AddressInfo;
    const webhook = { name: 'hook', url: `http://127.0.0.1:${port}/`, eventNames: ['variable-created'] };
    const { webhookId } = await atOne.ask('POST', '/v1/webhooks', webhook);

    const path = `${project.path}/variables`;
    const write = async (by: ApiClient, from: number, to: number) => {
      for (let number = from; number < to; number += 1)
        await by.ask('POST', path, { name: `v${number}`, type: 'TEXT', behaviour: 'SHARED' });
    };
    const writeAll = (by: ApiClient, from: number, to: number) =>
      Promise.all(
        Array.from({ length: writers }, (_, index) => {
          const each = (to - from) / writers;
          return write(by, from + index * each, from + (index + 1) * each);
        }),
      );
    let written = 0;
    for (const [killed, left, by] of [
      [one, other, atOne],
      [other, one, atOther],
    ] as const) {
      const earlier = received.length;
      // While the other one stands still, this one sends.
      const still = (await left.process('server')).pid;
      signal(still, 'SIGSTOP');
      await writeAll(by, written, written + events / 2);
      await waitUntil('some deliveries', 120, () => received.length > earlier + 20);
      await killed.kill((await killed.process('server')).pid);
      signal(still, 'SIGCONT');
      const before = new Set(received).size;
      written += events / 2;
      assert.ok(before < written, 'it was killed before its last delivery');
      const isDone = () => new Set(received).size === written;
      // After the end of the killed server's lease.
      await waitUntil('the deliveries by the other server', 180, isDone);
      await killed.start();
    }

    const { rows } = await direct.query<{ event_id: string }>(
      "select event_id from event where name = 'variable-created' and position is not null order by position",
    );
    const log = rows.map((row) => row.event_id);
    assert.equal(log.length, events);
    assert.deepEqual([...new Set(received)], log, 'the first delivery of each event');
    assert.ok(received.length < events + 200, `${received.length - events} duplicates`);
    const answer = await atOne.ask('GET', `/v1/webhooks/${webhookId}/deliveries?status=delivered`);
    assert.equal(answer.total, events);
  });
});
