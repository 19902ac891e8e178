/** Hosts that refuse, hide, cut and hang: each has its own code, and the project keeps its repository. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { RepositoryMigration } from '@headgate/contract';
import { commitFiles, type HostedOnHost, runGit, startGitHost } from '../../../testing/git-host.ts';
import {
  createMigrationScene,
  fillRepository,
  listRefs,
  loopbackHosts,
  type MigrationScene,
} from '../../../testing/migration-scene.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer(loopbackHosts);
const host = await startGitHost();
const other = await startGitHost();
after(() => Promise.all([host.close(), other.close()]));

async function requireFailure(
  scene: MigrationScene,
  migration: RepositoryMigration,
  code: string,
  detail: RegExp,
): Promise<void> {
  assert.deepEqual([migration.status, migration.code], ['FAILED', code], migration.detail);
  assert.match(migration.detail ?? '', detail);
  assert.equal(await scene.readCloneUrl(), scene.source.cloneUrl);
}

function addHook({ folder }: HostedOnHost, name: string, script: string): void {
  const file = join(folder, 'hooks', name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
}

const faults: readonly (readonly [
  what: string,
  arrange: (scene: MigrationScene) => void,
  code: string,
  detail: RegExp,
])[] = [
  [
    'a target that hides',
    ({ target }) => {
      target.behaviour = { isHidden: true };
    },
    'repository-not-found',
    /The target: .*does not exist, or the credential may not see it/,
  ],
  [
    'a source that hides',
    ({ source }) => {
      source.behaviour = { isHidden: true };
    },
    'repository-not-found',
    /^The source: /,
  ],
  [
    'a target that is archived',
    ({ target }) => {
      target.behaviour = {
        answer: { status: 403, body: 'This repository was archived so it is read-only.' },
      };
    },
    'repository-archived',
    /Unarchive the repository/,
  ],
  [
    'a target that redirects',
    ({ target }) => {
      target.behaviour = { redirectTo: 'https://elsewhere.example.com/x' };
    },
    'host-redirects',
    /redirects to https:\/\/elsewhere\.example\.com/,
  ],
  [
    'a source that cuts the connection in the middle of a pack',
    ({ source }) => {
      commitFiles(source.folder, {
        files: { big: Buffer.from(Array.from({ length: 300_000 }, () => Math.random() * 256)) },
      });
      source.behaviour = { cutAfterBytes: 50_000 };
    },
    'connection-cut',
    /^The source: .*Start the migration again/,
  ],
  [
    'a hook that declines',
    ({ target }) => addHook(target, 'pre-receive', 'echo "commits must be signed" >&2; exit 1'),
    'hook-declined',
    /The target refused .*commits must be signed/,
  ],
  [
    'a quota',
    ({ target }) => addHook(target, 'pre-receive', 'echo "repository quota exceeded" >&2; exit 1'),
    'quota-exceeded',
    /Raise the repository's limit/,
  ],
  [
    'a protected branch',
    ({ target }) =>
      addHook(target, 'update', 'case $1 in refs/heads/main) echo "protected branch" >&2; exit 1;; esac'),
    'protected-branch',
    /The target refused main: .*protected/,
  ],
];

for (const [what, arrange, code, detail] of faults)
  test(`${what} fails the migration as ${code}`, async () => {
    const scene = await createMigrationScene(server, host);
    fillRepository(scene.source);
    arrange(scene);
    await requireFailure(scene, await scene.migrate(), code, detail);
    scene.target.behaviour = {};
    assert.deepEqual(listRefs(scene.target), [''], 'an atomic push leaves nothing behind');
  });

test('a host that refuses forced pushes names the right to grant', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  commitFiles(scene.target.folder, { files: { x: 'x' } });
  scene.target.git('config', 'receive.denyNonFastForwards', 'true');
  const migration = await scene.migrate({ query: '?overwrite=true' });
  await requireFailure(scene, migration, 'force-push-forbidden', /Grant the right to force push/);
});

test('a damaged source is not moved', async () => {
  const scene = await createMigrationScene(server, host);
  const { source } = scene;
  fillRepository(source);
  const blob = source.git('rev-parse', 'main:b.txt').trim();
  breakObject(source, blob);
  const migration = await scene.migrate();
  assert.deepEqual([migration.status, migration.code], ['FAILED', 'source-damaged'], migration.detail);
  assert.equal(await scene.readCloneUrl(), source.cloneUrl);
});

/** Makes all objects loose, and removes one. */
function breakObject({ folder }: HostedOnHost, id: string): void {
  const packs = join(folder, 'objects/pack');
  const aside = join(folder, 'aside');
  mkdirSync(aside);
  for (const name of readdirSync(packs)) renameSync(join(packs, name), join(aside, name));
  for (const name of readdirSync(aside).filter((each) => each.endsWith('.pack')))
    runGit(folder, ['unpack-objects', '-q'], readFileSync(join(aside, name)));
  rmSync(join(folder, 'objects', id.slice(0, 2), id.slice(2)));
}

test('a shallow source, and one with SHA-256, are named', async () => {
  const full = host.addRepository('acme/full.git');
  commitFiles(full.folder, { files: { a: '1' } });
  commitFiles(full.folder, { files: { a: '2' } });
  const shallow = await createMigrationScene(server, host);
  runGit(shallow.source.folder, ['fetch', '-q', '--depth=1', `file://${full.folder}`, 'main:main']);
  await requireFailure(shallow, await shallow.migrate(), 'source-shallow', /git fetch --unshallow/);
  assert.deepEqual(listRefs(shallow.target), ['']);

  for (const side of ['source', 'target'] as const) {
    const scene = await createMigrationScene(server, host);
    if (side === 'target') fillRepository(scene.source);
    const { folder } = scene[side];
    rmSync(folder, { recursive: true });
    runGit('.', ['init', '-q', '--bare', '--object-format=sha256', folder]);
    commitFiles(folder, { files: { a: 'a' } });
    const name = new RegExp(`^The ${side} uses SHA-256`);
    await requireFailure(scene, await scene.migrate(), 'unsupported-object-format', name);
  }
});

test('a host without atomic pushes takes the refs in chunks', async () => {
  const scene = await createMigrationScene(server, host);
  const first = commitFiles(scene.source.folder, { files: { a: 'a' } });
  const tags = Array.from({ length: 450 }, (_, number) => `create refs/tags/t${number} ${first}\n`);
  runGit(scene.source.folder, ['update-ref', '--stdin'], tags.join(''));
  scene.target.git('config', 'receive.advertiseAtomic', 'false');
  const { status, detail, report } = await scene.migrate();
  assert.equal(status, 'COMPLETED', detail);
  assert.deepEqual([report?.pushedAtomically, report?.verifiedRefs], [false, 451]);
  assert.deepEqual(listRefs(scene.target), listRefs(scene.source));
});

test('a push that fails in the middle says what arrived, and a second start goes on', async () => {
  const scene = await createMigrationScene(server, host);
  const { source, target } = scene;
  const first = commitFiles(source.folder, { files: { a: 'a' } });
  const number = (index: number) => String(index).padStart(3, '0');
  const tags = Array.from({ length: 450 }, (_, index) => `create refs/tags/t${number(index)} ${first}\n`);
  runGit(source.folder, ['update-ref', '--stdin'], tags.join(''));
  target.git('config', 'receive.advertiseAtomic', 'false');
  // The second of three chunks.
  addHook(target, 'update', 'case $1 in refs/tags/t250) echo "release tags are locked" >&2; exit 1;; esac');
  const failed = await scene.migrate();
  await requireFailure(scene, failed, 'hook-declined', /It refused 1: t250 \(.*hook declined/);
  assert.match(failed.detail ?? '', /399 of 451 branches and tags arrived .* 51 were not tried: t399, /);
  const { arrived, arrivedRefs, refused, refusedRefs, notTried, notTriedRefs } =
    failed.report?.push ?? assert.fail('no report of the push');
  assert.deepEqual([arrived, refused, notTried], [399, 1, 51]);
  assert.deepEqual([arrivedRefs.length, arrivedRefs[0]], [100, 'refs/heads/main']);
  assert.equal(refusedRefs[0]?.name, 'refs/tags/t250');
  assert.equal(notTriedRefs.at(-1), 'refs/tags/t449');
  assert.equal(listRefs(target).length, 399);

  rmSync(join(target.folder, 'hooks/update'));
  const preflight = await scene.start({ query: '?dryRun=true' });
  assert.match(preflight.text, /"canMigrate":true/);
  const { status, detail } = await scene.migrate();
  assert.equal(status, 'COMPLETED', detail);
  assert.deepEqual(listRefs(target), listRefs(source));
});

test('an atomic push that is refused says that nothing arrived', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  addHook(scene.target, 'update', 'case $1 in refs/heads/main) echo "protected branch" >&2; exit 1;; esac');
  const { detail, report } = await scene.migrate();
  assert.match(detail ?? '', /0 of 4 branches and tags arrived at the target\. It refused 1: main /);
  assert.deepEqual(report?.push?.notTriedRefs.toSorted(), [
    'refs/heads/dev',
    'refs/tags/light',
    'refs/tags/v1',
  ]);
});

test('a credential is shown to its own origin only', async () => {
  const source = host.addRepository('acme/private.git', { readers: ['secret-of-source'] });
  fillRepository(source);
  const scene = await createMigrationScene(server, host, {
    cloneUrl: source.cloneUrl,
    token: 'secret-of-source',
  });
  const target = other.addRepository('acme/elsewhere.git');
  const { status, detail } = await scene.migrate({ body: { targetCloneUrl: target.cloneUrl } });
  assert.equal(status, 'COMPLETED', detail);
  assert.ok(other.requests.length > 0);
  assert.ok(other.requests.every(({ authorization }) => authorization === undefined));

  const near = host.addRepository('acme/private-2.git', { writers: ['secret-of-source'] });
  const again = await createMigrationScene(server, host, {
    cloneUrl: source.cloneUrl,
    token: 'secret-of-source',
  });
  const moved = await again.migrate({ body: { targetCloneUrl: near.cloneUrl } });
  assert.equal(moved.status, 'COMPLETED', moved.detail);
});

test('an address that the guard refuses is not connected to', async () => {
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  const targetCloneUrl = 'http://169.254.169.254/latest/meta-data';
  const migration = await scene.migrate({ body: { targetCloneUrl } });
  await requireFailure(scene, migration, 'address-refused', /metadata service of a cloud/);
});
