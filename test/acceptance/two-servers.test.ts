/** Two servers on one database: each sees the other's changes at once, and works without it. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { createEmptyDatabase, type TestDatabase } from '../../packages/server/testing/database.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { checkout, Installation, isRoot } from './harness/installation.ts';
import { Project, sqlScript } from './harness/project.ts';

const runs = 10;
/**
 * Without a notification an agent's claim looks again after 5 s. A run takes less than 2 s, so that none is claimed in
 * this time.
 */
const promptSeconds = 3;

describe('two servers on one database', () => {
  let database: TestDatabase;
  let direct: pg.Client;
  /** Without an agent. */
  let one: Installation;
  /** With the local agent. */
  let other: Installation;
  const processes: { one?: ChildProcess; other?: ChildProcess } = {};
  let atOne: ApiClient;
  let atOther: ApiClient;
  let project: Project;

  before(async () => {
    database = await createEmptyDatabase();
    direct = new pg.Client({ connectionString: database.url });
    direct.on('error', () => undefined);
    await direct.connect();
    const shared = {
      DATABASE_URL: database.url,
      HEADGATE_MASTER_KEY: randomBytes(32).toString('base64'),
      HEADGATE_PUBLIC_URL: 'http://headgate.test',
      HEADGATE_CLIENT_ID: 'operator',
      HEADGATE_CLIENT_SECRET: `secret-of-both-${randomBytes(12).toString('hex')}`,
    };
    one = await Installation.create({ environment: { ...shared, HEADGATE_LOCAL_AGENT: 'off' } });
    other = await Installation.create({ environment: shared });
    shareBlobs(one, other);
    atOne = one.client('operator', shared.HEADGATE_CLIENT_SECRET);
    atOther = other.client('operator', shared.HEADGATE_CLIENT_SECRET);
  });
  after(async () => {
    await one.remove();
    await other.remove();
    await direct.end();
    await database.drop();
  });

  it('migrate an empty database once when they start at the same time', async () => {
    [processes.one, processes.other] = [one.launch(), other.launch()];
    await Promise.all([one.ready(processes.one), other.ready(processes.other)]);
    const { rows } = await direct.query<{ migrations: number; accounts: number; keys: number }>(
      `select (select count(*)::int from schema_migration) as migrations,
        (select count(*)::int from account) as accounts,
        (select count(*)::int from signing_key) as keys`,
    );
    assert.ok((rows[0]?.migrations ?? 0) > 0);
    assert.deepEqual([rows[0]?.accounts, rows[0]?.keys], [1, 1]);
    // Logs are written in the background: after this line both are complete up to here.
    await waitUntil('both logs', 120, () =>
      [one, other].every(({ output }) => output.includes('"msg":"ready"')),
    );
    const announced = [one, other].filter(({ output }) => output.includes('the database was migrated'));
    assert.equal(announced.length, 1, 'one migrates, the other waits');
    project = await Project.create(atOne);
    await project.publish({ 'main.orch.yaml': sqlScript('select 1') });
    assert.equal((await Project.open(atOther, project.id).run('main', 'dev')).status, 'SUCCESS');
  });

  /** Seconds from the start, which one server wrote, to the claim, which the other wrote. */
  async function claims(ids: readonly string[]): Promise<{ id: string; count: number; seconds: number }[]> {
    const { rows } = await direct.query(
      `select e.execution_id as id, count(*)::int as count,
         extract(epoch from min(c.occurred_at) - e.started_at)::float as seconds
       from pipeline_execution e
       join event c on c.account_id = e.account_id and c.subject_id = e.execution_id::text
         and c.name = 'pipeline-execution-claimed'
       where e.execution_id = any ($1) group by e.execution_id, e.started_at`,
      [ids],
    );
    return rows;
  }

  it('wake each other’s agents', async () => {
    const ids: string[] = [];
    for (let run = 0; run < runs; run++) {
      const id = await project.start('main');
      ids.push(id);
      assert.equal((await project.ended(id)).status, 'SUCCESS');
    }
    const seconds = (await claims(ids)).map((claim) => claim.seconds);
    assert.equal(seconds.length, runs);
    const prompt = seconds.filter((each) => each < promptSeconds);
    // Half of them, because a busy machine may be late.
    assert.ok(
      prompt.length >= runs / 2,
      `claimed after ${seconds.map((each) => each.toFixed(2)).join(', ')} s`,
    );
  });

  it('refuse a deleted credential at the next request', async () => {
    const input = { name: `short-lived ${randomUUID()}`, role: 'MEMBER' };
    const made = await atOne.ask('POST', '/v1/credentials', input);
    const guest = other.client(made.clientId, made.clientSecret);
    assert.equal((await guest.call('GET', '/v1/projects')).status, 200);
    const token = guest.tokens.at(-1);
    await atOne.ask('DELETE', `/v1/credentials/${made.credentialId}`);
    for (const { url } of [other, one]) {
      const refused = await fetch(`${url}/dpc/v1/projects`, {
        headers: { authorization: `Bearer ${token}` },
      });
      assert.equal(refused.status, 401);
    }
  });

  /** Another instance of the local agent, connected to the server that has none. Both claim the same work. */
  async function secondAgent(): Promise<ChildProcess> {
    const { results } = (await atOne.call('GET', '/v1/agents')).body as { results: { agentId: string }[] };
    const path = `/v1/agents/${results[0]?.agentId}/credentials`;
    const { clientId, clientSecret } = (await atOne.call('GET', path)).body as Record<string, string>;
    assert.ok(clientId !== undefined && clientSecret !== undefined);
    const [cwd, entry] = [join(one.folder, 'second-agent'), 'packages/agent/src/main.ts'];
    return spawn(process.execPath, [join(checkout, entry)], {
      cwd: one.folder,
      env: {
        ...one.environment(),
        HEADGATE_AGENT_CLIENT_ID: clientId,
        HEADGATE_AGENT_CLIENT_SECRET: clientSecret,
        HEADGATE_AGENT_DIR: cwd,
        HEADGATE_SERVER_URL: one.url,
        HEADGATE_AGENT_ALLOW_ROOT: 'yes',
      },
      stdio: 'ignore',
    });
  }

  it('give each execution to one agent when agents of both claim at once', async () => {
    const second = await secondAgent();
    try {
      await waitUntil('two instances that wait', 120, async () => {
        const waiting = await Promise.all([one, other].map((each) => claimsWaiting(each.url)));
        return waiting.every((count) => count > 0);
      });
      const there = [project, Project.open(atOther, project.id)];
      const ids = await Promise.all(
        Array.from({ length: 12 }, (_, index) => (there[index % 2] ?? project).start('main')),
      );
      for (const id of ids) {
        const { status, message } = await project.ended(id);
        assert.equal(status, 'SUCCESS', message);
      }
      const counts = (await claims(ids)).map(({ count }) => count);
      assert.deepEqual(counts, Array(ids.length).fill(1));
    } finally {
      second.kill('SIGKILL');
    }
  });

  it('continue when the other is killed, and notify each other again afterwards', async () => {
    for (const name of ['one', 'other'] as const) {
      const [killed, left] = name === 'one' ? [one, atOther] : [other, atOne];
      await killed.kill((await killed.process('server')).pid);
      const variable = { name: `while_${name}_is_away`, type: 'TEXT', behaviour: 'SHARED' };
      assert.equal((await left.call('POST', `${project.path}/variables`, { body: variable })).status, 201);
      await killed.start('node');
      const back = name === 'one' ? atOne : atOther;
      assert.equal((await back.call('GET', `${project.path}/variables/${variable.name}`)).status, 200);
    }
    assert.equal((await project.run('main', 'dev')).status, 'SUCCESS');
  });
});

async function claimsWaiting(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^headgate_claims_waiting (\d+)$/m.exec(text)?.[1] ?? 0);
}

/** One folder for both, like a mounted one. */
function shareBlobs(one: Installation, other: Installation): void {
  for (const { dataDirectory } of [one, other]) {
    mkdirSync(dataDirectory);
    chmodSync(dataDirectory, isRoot ? 0o711 : 0o700);
  }
  mkdirSync(join(one.dataDirectory, 'blobs'));
  symlinkSync(join(one.dataDirectory, 'blobs'), join(other.dataDirectory, 'blobs'));
}
