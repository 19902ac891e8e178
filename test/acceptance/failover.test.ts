/**
 * The primary is killed under load and a standby is promoted behind the same address. With synchronous
 * replication no acknowledged write is lost, and the servers continue, including their notifications to each
 * other.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type DatabaseProxy, openDatabaseProxy } from '../../packages/server/testing/database-proxy.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { Installation } from './harness/installation.ts';
import { Project, sqlScript } from './harness/project.ts';
import { ReplicatedDatabase } from './harness/replicated-database.ts';

const writers = 8;
const runs = 10;
/**
 * Without a notification an agent's claim looks again after 5 s. A run takes less than 2 s, so that none is claimed in
 * this time.
 */
const promptSeconds = 3;

describe('the promotion of a standby under load', () => {
  let theirs: Installation;
  let database: ReplicatedDatabase;
  let proxy: DatabaseProxy;
  /** Without an agent. */
  let one: Installation;
  /** With the local agent. */
  let other: Installation;
  let client: ApiClient;
  let project: Project;
  const acknowledged: { name: string; id: string }[] = [];
  const surprises: string[] = [];

  before(async () => {
    theirs = await Installation.create();
    database = await ReplicatedDatabase.start(theirs);
    proxy = await openDatabaseProxy(database.primary.socketPath);
    const shared = {
      DATABASE_URL: `postgresql://headgate@127.0.0.1:${proxy.port}/headgate`,
      HEADGATE_MASTER_KEY: randomBytes(32).toString('base64'),
      HEADGATE_PUBLIC_URL: 'http://headgate.test',
      HEADGATE_CLIENT_ID: 'operator',
      HEADGATE_CLIENT_SECRET: `secret-of-both-${randomBytes(12).toString('hex')}`,
    };
    one = await Installation.create({ environment: { ...shared, HEADGATE_LOCAL_AGENT: 'off' } });
    other = await Installation.create({ environment: shared });
    await other.start('node');
    await one.start('node');
    client = one.client('operator', shared.HEADGATE_CLIENT_SECRET);
    project = await Project.create(other.client('operator', shared.HEADGATE_CLIENT_SECRET));
    await project.publish({ 'main.orch.yaml': sqlScript('select 1') });
  });
  after(async () => {
    await one.remove();
    await other.remove();
    await proxy.close();
    await database.stop();
    await theirs.remove();
  });

  async function write(writer: number, stopping: AbortSignal, gaveUp: AbortSignal): Promise<void> {
    for (let number = 0; !stopping.aborted; number++) {
      const name = `w${writer}_${number}`;
      const body = { name, type: 'TEXT', behaviour: 'SHARED', value: name };
      const options = { body, key: randomUUID() };
      const answer = await client.insist('POST', `${project.path}/variables`, options, () =>
        gaveUp.throwIfAborted(),
      );
      if (answer.status === 201) acknowledged.push({ name, id: answer.body.id });
      else surprises.push(`${name}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
  }

  it('loses no acknowledged write, and every response is expected', async () => {
    const [stopping, gaveUp] = [new AbortController(), new AbortController()];
    const writing = Promise.allSettled(
      Array.from({ length: writers }, (_, writer) => write(writer, stopping.signal, gaveUp.signal)),
    );
    try {
      await waitUntil('some load', 120, () => acknowledged.length > 200);
      proxy.refuse(true);
      await database.failOver();
      proxy.breakConnections();
      proxy.redirectTo(database.standby.socketPath);
      proxy.refuse(false);
      const before = acknowledged.length;
      await waitUntil('writes at the new primary', 120, () => acknowledged.length > before + 200);
      await delay(500);
      stopping.abort();
      for (const each of await writing) if (each.status === 'rejected') throw each.reason;
    } finally {
      stopping.abort();
      gaveUp.abort();
    }
    assert.deepEqual(surprises, []);
    const rows: { name: string; id: string }[] = [];
    for (let page = 0; ; page++) {
      const { results, total } = await client.ask('GET', `${project.path}/variables?size=100&page=${page}`);
      assert.equal(total, acknowledged.length, 'the total');
      rows.push(...results);
      if (results.length < 100) break;
    }
    const pairs = (list: { name: string; id: string }[]) =>
      list.map(({ name, id }) => `${name} ${id}`).toSorted();
    assert.deepEqual(pairs(rows), pairs(acknowledged));
  });

  it('lets the servers wake each other’s agents as before', async () => {
    const here = Project.open(client, project.id);
    const ids: string[] = [];
    for (let run = 0; run < runs; run++) {
      const id = await here.start('main');
      ids.push(id);
      const { status, message } = await here.ended(id);
      assert.equal(status, 'SUCCESS', message);
    }
    const direct = new pg.Client(database.standby.connection);
    await direct.connect();
    const { rows } = await direct.query<{ seconds: number }>(
      `select extract(epoch from min(c.occurred_at) - e.started_at)::float as seconds
       from pipeline_execution e
       join event c on c.account_id = e.account_id and c.subject_id = e.execution_id::text
         and c.name = 'pipeline-execution-claimed'
       where e.execution_id = any ($1) group by e.execution_id, e.started_at`,
      [ids],
    );
    await direct.end();
    assert.equal(rows.length, runs);
    const prompt = rows.filter(({ seconds }) => seconds < promptSeconds);
    const times = rows.map(({ seconds }) => seconds.toFixed(2)).join(', ');
    // Half of them, because a busy machine may be late.
    assert.ok(prompt.length >= runs / 2, `claimed after ${times} s`);
  });
});
