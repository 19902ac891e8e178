/**
 * 16 connections write variables with idempotency keys while the server or PostgreSQL is killed by SIGKILL at
 * random moments. Afterwards every acknowledged write is stored, a repeated request took effect once, and the
 * total, the rows and the events agree.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { roundsOr, testSeed as seed } from '@headgate/contract/testing/rounds';
import pg from 'pg';
import { seededRandom } from '../../packages/server/testing/seeded-random.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { Installation } from './harness/installation.ts';
import { Project } from './harness/project.ts';

const writers = 16;
const rounds = roundsOr(1);

interface Written {
  name: string;
  key: string;
  id: string;
}

describe(`acknowledged writes (TEST_SEED=${seed})`, () => {
  let headgate: Installation;
  let client: ApiClient;
  let project: Project;
  const acknowledged: Written[] = [];
  const surprises: string[] = [];
  before(async () => {
    headgate = await Installation.create({ environment: { HEADGATE_LOCAL_AGENT: 'off' } });
    await headgate.start('node');
    client = headgate.client();
    project = await Project.create(client);
  });
  after(() => headgate.remove());

  const variable = (name: string) => ({ name, type: 'TEXT', behaviour: 'SHARED', value: `of ${name}` });

  async function write(writer: number, stopping: AbortSignal, gaveUp: AbortSignal): Promise<void> {
    for (let number = 0; !stopping.aborted; number++) {
      const name = `w${writer}_${number}`;
      const key = randomUUID();
      const answer = await client.insist(
        'POST',
        `${project.path}/variables`,
        { body: variable(name), key },
        () => gaveUp.throwIfAborted(),
      );
      if (answer.status === 201 && answer.body.name === name)
        acknowledged.push({ name, key, id: answer.body.id });
      else surprises.push(`${name}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
  }

  async function killOne(kind: 'server' | 'postmaster'): Promise<void> {
    await headgate.kill((await headgate.process(kind)).pid);
    if (kind === 'server') return void (await headgate.start('node'));
    await headgate.process('postmaster');
    await headgate.ready();
  }

  it(`survive ${rounds} kills`, { timeout: 600_000 + rounds * 20_000 }, async () => {
    const random = seededRandom(seed);
    const stopping = new AbortController();
    const gaveUp = new AbortController();
    const writing = Promise.allSettled(
      Array.from({ length: writers }, (_, writer) => write(writer, stopping.signal, gaveUp.signal)),
    );
    try {
      for (let round = 0; round < rounds; round++) {
        await delay(100 + random() * 900);
        // Each kind in turn, so that two rounds try both.
        await killOne((seed + round) % 2 === 0 ? 'server' : 'postmaster');
        // More than the requests that were under way.
        const before = acknowledged.length;
        await waitUntil('writes after it', 120, () => acknowledged.length > before + writers);
      }
      stopping.abort();
      for (const each of await writing) if (each.status === 'rejected') throw each.reason;
    } finally {
      gaveUp.abort();
    }
    assert.deepEqual(surprises, []);
    assert.ok(acknowledged.length > rounds * writers, `${acknowledged.length} writes`);
  });

  it('are all stored once, and the total equals the number of rows', async () => {
    const rows: { name: string; id: string; value: string }[] = [];
    for (let page = 0; ; page++) {
      const { results, total } = await client.ask('GET', `${project.path}/variables?size=100&page=${page}`);
      assert.equal(total, acknowledged.length);
      rows.push(...results);
      if (results.length < 100) break;
    }
    const pairs = (list: { name: string; id: string }[]) =>
      list.map(({ name, id }) => `${name} ${id}`).toSorted();
    assert.deepEqual(pairs(rows), pairs(acknowledged));
    assert.deepEqual(
      rows.filter(({ name, value }) => value !== `of ${name}`),
      [],
    );
  });

  it('have one event each', async () => {
    const socket = headgate.output.match(/PostgreSQL socket: (.*)/)?.[1];
    const database = new pg.Client({ host: socket, user: 'headgate', database: 'headgate' });
    await database.connect();
    try {
      const { rows } = await database.query<{ subject_id: string }>(
        "select subject_id from event where name = 'variable-created' and project_id = $1",
        [project.id],
      );
      const ids = acknowledged.map(({ id }) => id);
      assert.deepEqual(rows.map((row) => row.subject_id).toSorted(), ids.toSorted());
    } finally {
      await database.end();
    }
  });

  it('get the same response when they are sent again with their key', async () => {
    const random = seededRandom(seed + 1);
    for (const { name, key, id } of acknowledged.toSorted(() => random() - 0.5).slice(0, 200)) {
      const answer = await client.call('POST', `${project.path}/variables`, { body: variable(name), key });
      assert.deepEqual([answer.status, answer.body.id], [201, id]);
      assert.equal(answer.headers.get('idempotency-replayed'), 'true');
    }
    const { total } = await client.ask('GET', `${project.path}/variables?size=1`);
    assert.equal(total, acknowledged.length);
  });
});
