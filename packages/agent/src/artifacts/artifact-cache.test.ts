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
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { FakeServer, testCredential } from '../../testing/fake-server.ts';
import { createFolders, type Folders, removeTree } from '../host/folders.ts';
import { createLog } from '../log.ts';
import { type ControlPlane, createControlPlane } from '../session/control-plane.ts';
import { ArtifactCache } from './artifact-cache.ts';

const projectId = '11111111-1111-4111-8111-111111111111';
const never = new AbortController().signal;

describe('the artifact cache', () => {
  let server: FakeServer;
  let folders: Folders;

  /** The server, or one that sends wrong bytes for each file. */
  function createSource(bytes?: () => Iterable<Buffer>): Pick<ControlPlane, 'artifact' | 'blob'> {
    const source = createControlPlane({ serverUrl: server.url, ...testCredential });
    return bytes === undefined
      ? source
      : { artifact: source.artifact, blob: async () => Readable.from(bytes()) };
  }
  const open = (limitBytes = 1_000, source = createSource()) =>
    ArtifactCache.open({
      folders,
      limitBytes,
      source,
      log: createLog({ level: 'error', write: (line) => console.log(line) }),
    });

  beforeEach(async () => {
    server = await new FakeServer().start();
    folders = createFolders(mkdtempSync(join(tmpdir(), 'headgate-artifacts-')));
  });
  afterEach(async () => {
    await server.stop();
    await removeTree(folders.root);
  });

  it('fetches a version once into sealed folders, even if several runs need it at the same time', async () => {
    const digest = server.publish({ 'main.orch.yaml': 'a', 'data/in/towns.csv': 'name\nUlm\n', empty: '' });
    const cache = await open();
    const [first, second] = await Promise.all([1, 2].map(() => cache.acquire(projectId, digest, never)));
    assert.equal(first?.folder, second?.folder);
    assert.equal(first?.folder, join(folders.artifacts, projectId, digest, 'files'));
    assert.deepEqual(first?.index.paths, ['main.orch.yaml', 'data/in/towns.csv', 'empty']);
    const folder = first?.folder as string;
    assert.equal(readFileSync(join(folder, 'data/in/towns.csv'), 'utf8'), 'name\nUlm\n');
    assert.equal(statSync(join(folder, 'data/in/towns.csv')).mode & 0o777, 0o444);
    for (const sealed of [join(folder, 'data/in'), folder, join(folder, '..'), join(folder, '../..')]) {
      assert.equal(statSync(sealed).mode & 0o777, 0o555, sealed);
    }
    await server.stop();
    assert.equal((await cache.acquire(projectId, digest, never)).folder, folder);
  });

  it('keeps versions when the agent restarts', async () => {
    const digest = server.publish({ a: 'a' });
    (await (await open()).acquire(projectId, digest, never)).release();
    await server.stop();
    const held = await (await open()).acquire(projectId, digest, never);
    assert.equal(readFileSync(join(held.folder, 'a'), 'utf8'), 'a');
  });

  it('does not trust a folder that it did not create', async () => {
    const digest = server.publish({ 'main.orch.yaml': 'real' });
    const forged = join(folders.projectArtifacts(projectId), digest, 'files');
    mkdirSync(forged, { recursive: true });
    writeFileSync(join(forged, 'main.orch.yaml'), 'forged');
    const held = await (await open()).acquire(projectId, digest, never);
    assert.equal(readFileSync(join(held.folder, 'main.orch.yaml'), 'utf8'), 'real');
  });

  it('refuses a file with wrong bytes, names it, and keeps nothing', async () => {
    const digest = server.publish({ good: 'good', 'data/bad.csv': 'good too' });
    server.damage(digest, 'data/bad.csv');
    const cache = await open();
    await assert.rejects(
      cache.acquire(projectId, digest, never),
      /"data\/bad.csv" differs from the published one: it has SHA-256 [0-9a-f]{64}, but its manifest says 8 bytes with SHA-256/,
    );
    assert.deepEqual(readdirSync(folders.incoming), []);
    assert.equal(existsSync(join(folders.projectArtifacts(projectId), digest)), false);
  });

  it('refuses a file with too many or too few bytes', async () => {
    const cache = await open();
    const more = server.publish({ a: 'published' });
    const fewer = server.publish({ b: 'published too' });
    const longer = createSource(() => [Buffer.from('publishe'), Buffer.from('d and more')]);
    await assert.rejects((await open(1_000, longer)).acquire(projectId, more, never), /more than 9 bytes/);
    server.shorten(fewer, 'b');
    await assert.rejects(
      cache.acquire(projectId, fewer, never),
      /b: the transfer ended after 12 of 13 bytes/,
    );
    assert.deepEqual(readdirSync(folders.incoming), []);
    for (const digest of [more, fewer])
      assert.equal(existsSync(join(folders.projectArtifacts(projectId), digest)), false);
  });

  it('refuses the manifest of another version', async () => {
    const digest = server.publish({ a: 'a' });
    const other = server.publish({ a: 'b' });
    const source = { ...createSource(), artifact: () => createSource().artifact(other, never) };
    await assert.rejects(
      (await open(1_000, source)).acquire(projectId, digest, never),
      /sent another artifact/,
    );
  });

  it('retries an interrupted transfer', async () => {
    const digest = server.publish({ 'large.csv': 'x'.repeat(500), small: 'y' });
    server.breakOff(digest, 'large.csv', 2);
    const held = await (await open()).acquire(projectId, digest, never);
    assert.equal(readFileSync(join(held.folder, 'large.csv'), 'utf8'), 'x'.repeat(500));
    assert.deepEqual(readdirSync(held.folder).toSorted(), ['large.csv', 'small']);
  });

  for (const path of ['../outside', '/absolute', 'a/../../b', 'a//b', 'a\\b', 'a\u0000b', './a']) {
    it(`refuses the path ${JSON.stringify(path)}`, async () => {
      const cache = await open();
      const digest = server.publish({ [path]: 'x' });
      await assert.rejects(
        cache.acquire(projectId, digest, never),
        /is not a relative path inside the artifact/,
      );
    });
  }

  it('evicts the least recently used version, and never one in use', async () => {
    const digests = ['a', 'b', 'c', 'd'].map((name) => server.publish({ [name]: name.repeat(400) }));
    const [used, old, fresh, next] = digests as [string, string, string, string];
    const cache = await open(1_200);
    await cache.acquire(projectId, used, never);
    for (const digest of [old, fresh, next]) (await cache.acquire(projectId, digest, never)).release();
    assert.deepEqual(kept(digests), [true, false, true, true]);
  });

  const kept = (digests: readonly string[]) =>
    digests.map((digest) => existsSync(join(folders.projectArtifacts(projectId), digest)));
  async function until(condition: () => boolean): Promise<void> {
    const late = performance.now() + 120_000;
    while (!condition()) {
      assert.ok(performance.now() < late, 'it did not come about');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  it('keeps its limit for versions that are fetched at the same time', async () => {
    const digests = ['a', 'b', 'c', 'd'].map((name) => server.publish({ [name]: name.repeat(400) }));
    const cache = await open(900);
    const held = await Promise.all(digests.map((digest) => cache.acquire(projectId, digest, never)));
    assert.deepEqual(kept(digests), [true, true, true, true], 'what is in use stays, above the bound too');
    for (const each of held) each.release();
    await until(() => kept(digests).filter(Boolean).length === 2);
  });

  it('does not evict a fetched version before the waiting callers hold it', async () => {
    const digests = Array.from({ length: 12 }, (_, index) =>
      server.publish({ a: `${index}`.padEnd(400, 'x') }),
    );
    const cache = await open(400);
    const read = async (digest: string, index: number) => {
      const held = await cache.acquire(projectId, digest, never);
      // Other versions come and go meanwhile.
      await new Promise((resolve) => setTimeout(resolve, index % 3));
      const text = readFileSync(join(held.folder, 'a'), 'utf8');
      held.release();
      return text;
    };
    const twice = [...digests, ...digests];
    const texts = await Promise.all(twice.map(read));
    assert.deepEqual(
      texts,
      twice.map((_, index) => `${index % 12}`.padEnd(400, 'x')),
    );
    await until(() => kept(digests).filter(Boolean).length <= 1);
  });

  it('frees space before it fetches a version', async () => {
    const [first, second] = ['a', 'b'].map((name) => server.publish({ [name]: name.repeat(400) })) as [
      string,
      string,
    ];
    const cache = await open(500);
    (await cache.acquire(projectId, first, never)).release();
    const held = Promise.withResolvers<void>();
    server.holdBlobs = held.promise;
    const coming = cache.acquire(projectId, second, never);
    await until(() => !kept([first])[0]);
    held.resolve();
    await coming;
    assert.deepEqual(kept([first, second]), [false, true]);
  });

  it('applies a smaller limit after a restart', async () => {
    const digests = ['a', 'b', 'c'].map((name) => server.publish({ [name]: name.repeat(400) }));
    const cache = await open(1_200);
    for (const digest of digests) (await cache.acquire(projectId, digest, never)).release();
    await open(800);
    assert.deepEqual(kept(digests), [false, true, true]);
    assert.equal(readdirSync(folders.projectVerified(projectId)).length, 2);
  });

  it('refuses a version larger than the cache, and names the setting', async () => {
    const digest = server.publish({ a: 'a'.repeat(1_001) });
    await assert.rejects(
      (await open()).acquire(projectId, digest, never),
      /HEADGATE_AGENT_ARTIFACT_CACHE_MB/,
    );
  });

  it('retries while the server is briefly unavailable', async () => {
    const digest = server.publish({ a: 'a' });
    const cache = await open();
    await server.stop();
    const held = cache.acquire(projectId, digest, never);
    await server.start();
    assert.deepEqual((await held).index.paths, ['a']);
  });
});
