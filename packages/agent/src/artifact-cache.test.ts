import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ArtifactCache } from './artifact-cache.ts';
import { createControlPlane } from './control-plane.ts';
import { agentFolders, type Folders, removeTree } from './folders.ts';
import { createLog } from './log.ts';
import { FakeServer, testCredential } from './testing/fake-server.ts';

const projectId = '11111111-1111-4111-8111-111111111111';
const never = new AbortController().signal;

describe('the artifact cache', { timeout: 30_000 }, () => {
  let server: FakeServer;
  let folders: Folders;

  const open = (limitBytes = 1_000) =>
    ArtifactCache.open({
      folders,
      limitBytes,
      source: createControlPlane({ serverUrl: server.url, ...testCredential }),
      log: createLog({ level: 'error' }),
    });

  beforeEach(async () => {
    server = await new FakeServer().start();
    folders = agentFolders(mkdtempSync(join(tmpdir(), 'headgate-artifacts-')));
  });
  afterEach(async () => {
    await server.stop();
    await removeTree(folders.root);
  });

  it('fetches a version once, into sealed folders, also when several runs want it at one time', async () => {
    const digest = server.publish({ 'main.orch.yaml': 'a', 'data/in/towns.csv': 'name\nUlm\n', empty: '' });
    const cache = await open();
    const [first, second] = await Promise.all([1, 2].map(() => cache.acquire(projectId, digest, never)));
    assert.equal(first?.folder, second?.folder);
    assert.equal(first?.folder, join(folders.artifacts, projectId, digest, 'files'));
    assert.deepEqual(first?.paths, ['main.orch.yaml', 'data/in/towns.csv', 'empty']);
    const folder = first?.folder as string;
    assert.equal(readFileSync(join(folder, 'data/in/towns.csv'), 'utf8'), 'name\nUlm\n');
    assert.equal(statSync(join(folder, 'data/in/towns.csv')).mode & 0o777, 0o444);
    for (const sealed of [join(folder, 'data/in'), folder, join(folder, '..'), join(folder, '../..')]) {
      assert.equal(statSync(sealed).mode & 0o777, 0o555, sealed);
    }
    await server.stop();
    assert.equal((await cache.acquire(projectId, digest, never)).folder, folder);
  });

  it('keeps versions over a restart of the agent', async () => {
    const digest = server.publish({ a: 'a' });
    (await (await open()).acquire(projectId, digest, never)).release();
    await server.stop();
    const held = await (await open()).acquire(projectId, digest, never);
    assert.equal(readFileSync(join(held.folder, 'a'), 'utf8'), 'a');
  });

  it('does not trust a folder that it did not make itself', async () => {
    const digest = server.publish({ 'main.orch.yaml': 'real' });
    const forged = join(folders.projectArtifacts(projectId), digest, 'files');
    mkdirSync(forged, { recursive: true });
    writeFileSync(join(forged, 'main.orch.yaml'), 'forged');
    const held = await (await open()).acquire(projectId, digest, never);
    assert.equal(readFileSync(join(held.folder, 'main.orch.yaml'), 'utf8'), 'real');
  });

  it('refuses a file with other bytes than were published, names it, and keeps nothing', async () => {
    const digest = server.publish({ good: 'good', 'data/bad.csv': 'good too' });
    server.damage(digest, 'data/bad.csv');
    const cache = await open();
    await assert.rejects(
      cache.acquire(projectId, digest, never),
      /"data\/bad.csv" is not what was published: it has SHA-256 [0-9a-f]{64}, and its manifest says 8 bytes with SHA-256/,
    );
    assert.deepEqual(readdirSync(folders.incoming), []);
    assert.equal(existsSync(join(folders.projectArtifacts(projectId), digest)), false);
  });

  for (const path of ['../outside', '/absolute', 'a/../../b', 'a//b', 'a\\b', 'a\u0000b', './a']) {
    it(`refuses the path ${JSON.stringify(path)}`, async () => {
      const cache = await open();
      const digest = server.publish({ [path]: 'x' });
      await assert.rejects(cache.acquire(projectId, digest, never), /does not stay inside the artifact/);
    });
  }

  it('evicts what was longest unused, and never what is in use', async () => {
    const digests = ['a', 'b', 'c', 'd'].map((name) => server.publish({ [name]: name.repeat(400) }));
    const [used, old, fresh, next] = digests as [string, string, string, string];
    const cache = await open(1_200);
    await cache.acquire(projectId, used, never);
    for (const digest of [old, fresh, next]) (await cache.acquire(projectId, digest, never)).release();
    const kept = digests.map((digest) => existsSync(join(folders.projectArtifacts(projectId), digest)));
    assert.deepEqual(kept, [true, false, true, true]);
  });

  it('refuses a version that is larger than the cache, and says which setting helps', async () => {
    const digest = server.publish({ a: 'a'.repeat(1_001) });
    await assert.rejects(
      (await open()).acquire(projectId, digest, never),
      /HEADGATE_AGENT_ARTIFACT_CACHE_MB/,
    );
  });

  it('waits for a server that is away for a moment', async () => {
    const digest = server.publish({ a: 'a' });
    const cache = await open();
    await server.stop();
    const held = cache.acquire(projectId, digest, never);
    await server.start();
    assert.deepEqual((await held).paths, ['a']);
  });
});
