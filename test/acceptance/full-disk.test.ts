/**
 * The disk with the database, the published files and the log is full: writes are 503, reads work, and
 * everything works again once there is space.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import { type Answer, type ApiClient, ConnectionLost } from './harness/client.ts';
import { onDatabaseOf } from './harness/database.ts';
import { Installation } from './harness/installation.ts';
import { Project, sqlScript } from './harness/project.ts';
import { SmallDisk, smallDiskRefusal } from './harness/small-disk.ts';

const refusal = smallDiskRefusal();
const megabytes = 160;
const recoverySeconds = 120;

describe('a full disk', { skip: refusal ?? false }, () => {
  let headgate: Installation;
  let disk: SmallDisk;
  let client: ApiClient;
  let project: Project;
  let serverId: number;
  const acknowledged = new Set<string>();
  let number = 0;

  before(async () => {
    headgate = await Installation.create();
    disk = new SmallDisk(headgate.dataDirectory, megabytes);
    headgate.set({ HEADGATE_LOG_FILE: join(headgate.dataDirectory, 'server.log') });
    await headgate.start('node');
    serverId = (await headgate.process('server')).pid;
    client = headgate.client();
    project = await Project.create(client);
    await project.publish({ 'short.orch.yaml': sqlScript('select 1') });
    assert.equal((await project.run('short')).status, 'SUCCESS');
  });
  after(async () => {
    disk?.remove();
    await headgate?.remove();
  });

  /** Creates a variable with a long value, so that the tables soon need new pages. */
  async function write(): Promise<Answer> {
    const name = `v${number++}`;
    const answer = await client.call('POST', `${project.path}/variables`, {
      body: { name, type: 'TEXT', behaviour: 'SHARED', value: 'x'.repeat(1_500) },
    });
    if (answer.status < 300) acknowledged.add(name);
    else requireUnavailable(answer);
    return answer;
  }

  async function storedNames(): Promise<Set<string>> {
    const names = new Set<string>();
    for (let page = 0; ; page++) {
      const { results } = await client.ask('GET', `${project.path}/variables?size=100&page=${page}`);
      for (const { name } of results) names.add(name);
      if (results.length < 100) return names;
    }
  }

  async function requireNothingLost(): Promise<void> {
    const stored = await storedNames();
    assert.deepEqual(
      [...acknowledged].filter((name) => !stored.has(name)),
      [],
    );
  }

  async function writesWork(): Promise<boolean> {
    const answer = await write().catch((failure) => {
      if (!(failure instanceof ConnectionLost)) throw failure;
    });
    if (answer !== undefined && answer.status < 300) return true;
    await delay(100);
    return false;
  }

  it('answers writes and uploads with 503, and reads as before', async () => {
    disk.fill();
    let refused = 0;
    await waitUntil('a refused write', 120, async () => (await write()).status === 503);
    for (let attempt = 0; attempt < 30; attempt++) {
      // PostgreSQL may have freed some pages.
      disk.fill();
      if ((await write()).status === 503) refused++;
      const { status } = await client.call('GET', `${project.path}/variables?size=5`);
      assert.equal(status, 200, 'a read');
    }
    assert.ok(refused > 20, `${refused} of 30 writes were refused`);
    const form = new FormData();
    form.append('more.orch.yaml', new Blob([sqlScript('select 2')]), 'more.orch.yaml');
    const headers = { environmentName: 'dev', versionName: 'full' };
    requireUnavailable(await client.call('POST', `${project.path}/artifacts`, { body: form, headers }));
    // A new client first requests a token.
    assert.equal((await headgate.client().call('GET', project.path)).status, 200, 'a new client reads');
  });

  it('works again when there is space, and has lost no acknowledged write', async () => {
    disk.free();
    await waitUntil('a write', recoverySeconds, writesWork);
    await requireNothingLost();
    assert.equal((await project.run('short')).status, 'SUCCESS');
  });

  it('survives a panic of PostgreSQL, which starts again once there is space', async () => {
    const postmaster = (await headgate.process('postmaster')).pid;
    // PostgreSQL panics when it cannot create a file of the write-ahead log. With a slot it cannot use old files again.
    await onDatabaseOf(headgate, (query) =>
      query("select pg_create_physical_replication_slot('held', true)"),
    );
    disk.fill();
    await waitUntil('the end of PostgreSQL', 120, async () => {
      disk.fill();
      await onDatabaseOf(headgate, (query) => query('select pg_switch_wal()')).catch(() => undefined);
      await write().catch(() => undefined);
      return headgate.processes('postmaster').every(({ pid }) => pid !== postmaster);
    });
    for (let attempt = 0; attempt < 20; attempt++) {
      // The end of PostgreSQL has freed some pages, with which it could start again.
      disk.fill();
      requireUnavailable(await client.call('GET', `${project.path}/variables`));
      await delay(100);
    }
    const live = await fetch(`${headgate.url}/livez`);
    assert.equal(live.status, 200);
    disk.free();
    await waitUntil('a write', recoverySeconds, writesWork);
    await onDatabaseOf(headgate, (query) => query("select pg_drop_replication_slot('held')"));
    await requireNothingLost();
    assert.equal((await project.run('short')).status, 'SUCCESS');
  });

  it('is the same server process as before, and its log says how many lines were lost', async () => {
    assert.equal((await headgate.process('server')).pid, serverId);
    assert.match(headgate.output, /the log cannot be written to .*server\.log: ENOSPC/);
    // Lines are lost as long as the disk is full, and the notice comes with the next line after that.
    await waitUntil('a log that says how many lines were lost', 120, async () => {
      const lost = await countLostLines();
      return lost > 0 && countNoticedLines() === lost;
    });
    const failures = logged()
      .split('\n')
      .filter((line) => line.includes('a periodic job failed'));
    // Each job logs its failure once a minute, not each second.
    assert.ok(failures.length < 200, `${failures.length} lines of failed jobs`);
  });

  async function countLostLines(): Promise<number> {
    const metrics = await (await fetch(`${headgate.url}/metrics`)).text();
    return Number(/^headgate_log_lines_lost_total (\d+)$/m.exec(metrics)?.[1]);
  }

  function countNoticedLines(): number {
    return (
      logged()
        .split('\n')
        // The last line may not be whole yet.
        .slice(0, -1)
        .filter((line) => line.includes('log lines were lost'))
        .reduce((sum, line) => sum + (JSON.parse(line).lines as number), 0)
    );
  }

  function logged(): string {
    return readFileSync(join(headgate.dataDirectory, 'server.log'), 'utf8');
  }
});

function requireUnavailable({ status, headers, body }: Answer): void {
  assert.equal(status, 503, JSON.stringify(body));
  assert.ok(['storage-full', 'database-unavailable'].includes(body.code), JSON.stringify(body));
  assert.ok(headers.get('retry-after'));
}
