/** `npm run backup` of a busy installation, and `npm run restore` into a new data directory. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { onDatabaseOf } from './harness/database.ts';
import { ended, Installation } from './harness/installation.ts';
import { endlessScript, Project, sqlScript } from './harness/project.ts';

const writers = 8;
/** Between the writes of a client: without it they take the processors from the backup. */
const pauseMilliseconds = 25;
/**
 * Short times, so that a restored execution ends soon. One public URL, so that tokens are valid at both
 * addresses.
 */
const shared = {
  HEADGATE_PUBLIC_URL: 'http://headgate.test',
  HEADGATE_LEASE_SECONDS: '6',
  HEADGATE_HEARTBEAT_SECONDS: '1',
  HEADGATE_GRACE_SECONDS: '3',
};
const published = {
  'main.orch.yaml': sqlScript('select 1'),
  'notes.txt': 'Tromsø, 1 °C\n'.repeat(5_000),
  'endless.orch.yaml': endlessScript,
};

const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');

/** The digest of each file below a folder. */
function digestsBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => sha256(readFileSync(join(parentPath, name))))
    .sort();
}

describe('a backup', () => {
  let old: Installation;
  let fresh: Installation;
  let client: ApiClient;
  let project: Project;
  let file: string;
  let endless: string;
  let over: string;
  let oldServer: ChildProcess;
  let freshServer: ChildProcess;
  let acknowledgedBefore: string[] = [];
  const masterKey = () => readFileSync(join(old.dataDirectory, 'master-key'), 'utf8').trim();

  before(async () => {
    old = await Installation.create({ environment: shared });
    fresh = await Installation.create({
      environment: { ...shared, HEADGATE_CLIENT_ID: undefined, HEADGATE_CLIENT_SECRET: undefined },
    });
    file = join(old.folder, 'today.backup');
    oldServer = await old.start('node');
    client = old.client();
    project = await Project.create(client);
    await project.publish(published);
    over = (await project.run('main')).pipelineExecutionId;
    endless = await project.start('endless');
    await project.stepRunning(endless, 'Script');
  });
  after(async () => {
    await fresh.remove();
    await old.remove();
  });

  async function write(writer: number, acknowledged: string[], stopping: AbortSignal): Promise<void> {
    for (let number = 0; !stopping.aborted; number++) {
      const body = { name: `w${writer}_${number}`, type: 'TEXT', behaviour: 'SHARED', value: 'x' };
      const answer = await client.call('POST', `${project.path}/variables`, { body, key: randomUUID() });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      acknowledged.push(body.name);
      await delay(pauseMilliseconds);
    }
  }

  it('that is killed leaves no file of its name', async () => {
    // A published file without an end keeps the backup running until the test kills it.
    const never = 'f'.repeat(64);
    const place = await onDatabaseOf(old, async (query) => {
      const [row] = await query<{ account_id: string }>(
        `insert into blob (account_id, digest, size, created_at, object_key, object_offset)
         select account_id, $1, 1, now(), 'ff/' || $1, 0 from project limit 1 returning account_id`,
        [never],
      );
      return join(old.dataDirectory, 'blobs', row?.account_id ?? '', 'ff', never);
    });
    mkdirSync(join(place, '..'), { recursive: true });
    assert.equal(spawnSync('mkfifo', [place]).status, 0);
    const child = old.launch('command', 'backup', file);
    await waitUntil('a backup under way', 120, () => partials().length === 1);
    for (const { pid, command } of old.processes()) {
      if (command.includes('main/commands/make-backup.ts')) await old.kill(pid);
    }
    assert.notEqual(await ended(child), 0);
    assert.ok(!existsSync(file));
    rmSync(place);
    await onDatabaseOf(old, (query) => query('delete from blob where digest = $1', [never]));
  });

  it('is made while eight clients write, and removes what a killed one left', async () => {
    const acknowledged: string[] = [];
    const stopping = new AbortController();
    const writing = Promise.all(
      Array.from({ length: writers }, (_, writer) => write(writer, acknowledged, stopping.signal)),
    );
    try {
      await waitUntil('some writes', 120, () => acknowledged.length > 100);
      acknowledgedBefore = [...acknowledged];
      const made = await old.run('run', 'backup', '--', file);
      assert.equal(made.code, 0, made.output);
      assert.match(made.output, /not in it {6}the master key: store .*master-key elsewhere/);
    } finally {
      stopping.abort();
      await writing;
    }
    // The copy in the backup is tested below.
    await project.cancel(endless, true);
    assert.ok(acknowledged.length > acknowledgedBefore.length, 'no write during the backup');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(partials(), []);
  });

  it('contains no secret in plain text', () => {
    const content = gunzipSync(readFileSync(file));
    for (const secret of [old.clientSecret, masterKey(), ...client.tokens])
      assert.ok(!content.includes(secret));
  });

  it('does not replace a file', async () => {
    const digest = sha256(readFileSync(file));
    const again = await old.command('backup', file);
    assert.equal(again.code, 1);
    assert.match(again.output, /already exists/);
    assert.equal(sha256(readFileSync(file)), digest);
  });

  const partials = () => readdirSync(old.folder).filter((name) => name.endsWith('.partial'));
  const restore = (...args: string[]) => fresh.command('restore', ...args);

  it('is refused without the master key or when changed, before anything is written', async () => {
    const keyless = await restore(file);
    assert.equal(keyless.code, 1);
    assert.match(
      keyless.output,
      /fingerprint [0-9a-f]{16}, and this installation has no master key\. Copy the file master-key/,
    );
    assert.ok(!existsSync(fresh.dataDirectory));

    mkdirSync(fresh.dataDirectory, { mode: 0o711 });
    copyFileSync(join(old.dataDirectory, 'master-key'), join(fresh.dataDirectory, 'master-key'));
    // archive.test.ts also cuts it off.
    const changed = readFileSync(file);
    const middle = Math.floor(changed.length / 2);
    changed[middle] = (changed[middle] ?? 0) ^ 0xff;
    const damaged = join(old.folder, 'damaged.backup');
    writeFileSync(damaged, changed);
    const refused = await restore(damaged);
    assert.equal(refused.code, 1);
    assert.match(refused.output, /is not a complete backup: .* nothing was restored/);
    assert.deepEqual(readdirSync(fresh.dataDirectory), ['master-key']);
  });

  it('is restored into a new data directory, with all acknowledged writes and no partial ones', async () => {
    await client.ask('GET', '/v1/projects');
    const token = client.tokens.at(-1);
    assert.equal(await old.interrupt(oldServer), 0);
    const restored = await restore(file);
    assert.equal(restored.code, 0, restored.output);
    freshServer = await fresh.start('node');
    const { status } = await fetch(`${fresh.url}/dpc/v1/projects`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(status, 200, 'a token from before');

    const [names, events, total] = await onDatabaseOf(fresh, async (query) => [
      await query<{ name: string }>('select name from variable order by name'),
      await query<{ name: string }>(
        "select subject_name as name from event where name = 'variable-created' order by subject_name",
      ),
      await query<{ total: number }>(
        "select sum(count)::int as total from project_counter where kind = 'variable'",
      ),
    ]);
    const there = names.map(({ name }) => name).sort();
    assert.deepEqual(events.map(({ name }) => name).sort(), there);
    assert.equal(total[0]?.total, there.length);
    const found = new Set(there);
    assert.deepEqual(
      acknowledgedBefore.filter((name) => !found.has(name)),
      [],
    );
  });

  it('restores the credentials and the files, and pipelines run', async () => {
    const restored = fresh.client(old.clientId, old.clientSecret);
    const { total } = await restored.ask('GET', `${project.path}/variables?size=1`);
    assert.ok(total >= acknowledgedBefore.length);
    assert.deepEqual(
      digestsBelow(join(fresh.dataDirectory, 'blobs')),
      Object.values(published).map(sha256).sort(),
    );
    const again = await Project.open(restored, project.id).run('main');
    assert.equal(again.status, 'SUCCESS', again.message);
  });

  it('ends executions that ran during the backup, after lease and grace', async () => {
    const there = Project.open(fresh.client(old.clientId, old.clientSecret), project.id);
    assert.equal(await there.status(over), 'SUCCESS');
    const { status, message } = await there.ended(endless);
    assert.equal(status, 'FAILED');
    assert.match(message ?? '', /stopped responding/);
  });

  it('replaces an installation only with --force, and only while it does not run', async () => {
    const running = await restore(file, '--force');
    assert.equal(running.code, 1);
    assert.match(running.output, /Headgate already runs on .*: process \d+.* Stop it first/);

    const restored = fresh.client(old.clientId, old.clientSecret);
    const later = { name: 'later', type: 'TEXT', behaviour: 'SHARED' };
    await restored.ask('POST', `${project.path}/variables`, later);
    assert.equal(await fresh.interrupt(freshServer), 0);
    const request = await restore(file);
    assert.equal(request.code, 1);
    assert.match(request.output, /This installation already has data.* add --force/);
    // As a user enters it.
    const forced = await fresh.run('run', 'restore', '--', file, '--force');
    assert.equal(forced.code, 0, forced.output);

    fresh.set({ HEADGATE_LOCAL_AGENT: 'off' });
    await fresh.start('node');
    const answer = await restored.call('GET', `${project.path}/variables/later`);
    assert.equal(answer.status, 404, 'made after the backup');
  });
});
