/** Migrations to servers as Debian has them: nginx in front of git, and gitolite with its rights. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { commitFiles, runGit, startGitHost } from '../../../testing/git-host.ts';
import { hasGitolite, startGitoliteHost } from '../../../testing/gitolite-host.ts';
import {
  createMigrationScene,
  fillRepository,
  listRefs,
  loopbackHosts,
} from '../../../testing/migration-scene.ts';
import { startTestServer } from '../../../testing/server.ts';
import { waitUntil } from '../../../testing/waiting.ts';

const server = await startTestServer(loopbackHosts);
const host = await startGitHost();
after(() => host.close());

/** A credential of the project for an origin, which a target of that origin gets. */
async function createSceneAt(url: string, token: string) {
  const scene = await createMigrationScene(server, host, { cloneUrl: `${url}/source`, token });
  return scene;
}

test('gitolite: the right RW moves into an empty repository, RW+ is needed to overwrite', async (t) => {
  if (!hasGitolite()) {
    t.skip('gitolite is not installed (Debian package gitolite3): migrations were not tested against it');
    return;
  }
  const gitolite = await startGitoliteHost(
    [
      'repo source',
      '  RW+ = ada bob',
      'repo target',
      '  RW = ada',
      '  RW+ = bob',
      'repo closed',
      '  R = ada',
    ].join('\n'),
  );
  t.after(() => gitolite.close());
  const at = (name: string) => ({ targetCloneUrl: `${gitolite.url}/${name}` });
  const folder = gitolite.findFolder('source');
  commitFiles(folder, { files: { a: 'a' } });
  runGit(folder, ['branch', 'dev', 'main']);

  const denied = await (await createSceneAt(gitolite.url, 'ada')).migrate({ body: at('closed') });
  assert.deepEqual([denied.status, denied.code], ['FAILED', 'role-too-low'], denied.detail);

  const moved = await (await createSceneAt(gitolite.url, 'ada')).migrate({ body: at('target') });
  assert.equal(moved.status, 'COMPLETED', moved.detail);
  const refs = ['for-each-ref', '--format=%(objectname) %(refname)'];
  assert.equal(runGit(gitolite.findFolder('target'), refs), runGit(folder, refs));

  const other = commitFiles(gitolite.findFolder('target'), { files: { other: 'other' } });
  const forced = { body: at('target'), query: '?overwrite=true' };
  const refused = await (await createSceneAt(gitolite.url, 'ada')).migrate(forced);
  assert.deepEqual([refused.status, refused.code], ['FAILED', 'force-push-forbidden'], refused.detail);
  assert.equal(runGit(gitolite.findFolder('target'), ['rev-parse', 'main']).trim(), other);

  const granted = await (await createSceneAt(gitolite.url, 'bob')).migrate(forced);
  assert.equal(granted.status, 'COMPLETED', granted.detail);
  assert.equal(runGit(gitolite.findFolder('target'), refs), runGit(folder, refs));
});

test('nginx in front of both hosts', async (t) => {
  if (spawnSync('nginx', ['-v']).error !== undefined) {
    t.skip('nginx is not installed (Debian package nginx-light): migrations were not tested behind it');
    return;
  }
  const nginx = await startNginx(host.port);
  t.after(() => nginx.close());
  const scene = await createMigrationScene(server, host);
  fillRepository(scene.source);
  commitFiles(scene.source.folder, { files: { big: Buffer.alloc(3_000_000, 'abcdefghij') } });
  await server.database.query('update repository set clone_url = $2 where project_id = $1', [
    scene.project.projectId,
    scene.source.cloneUrl.replace(host.url, nginx.url),
  ]);
  const targetCloneUrl = scene.target.cloneUrl.replace(host.url, nginx.url);
  const { status, detail } = await scene.migrate({ body: { targetCloneUrl } });
  assert.equal(status, 'COMPLETED', detail);
  assert.deepEqual(listRefs(scene.target), listRefs(scene.source));
});

async function startNginx(behind: number): Promise<{ url: string; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
  mkdirSync(join(folder, 'tmp'));
  const port = await findFreePort();
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/tmp/${name};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; ${process.getuid?.() === 0 ? 'user root;' : ''} worker_processes 1; error_log ${folder}/error.log; pid ${folder}/pid;
     events {}
     http { access_log off; client_max_body_size 0; ${places.join(' ')}
       server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${behind}; } } }`,
  );
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' });
  const end = new Promise((resolve) => child.on('exit', resolve));
  const url = `http://127.0.0.1:${port}`;
  await waitUntil('nginx', 120, () =>
    fetch(url)
      .then(() => true)
      .catch(() => false),
  );
  return {
    url,
    async close() {
      child.kill();
      await end;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Below the ports that the system gives to connections, so that none takes it first; no other test listens there. */
async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 31_000 + Math.floor(Math.random() * 1_000);
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}
