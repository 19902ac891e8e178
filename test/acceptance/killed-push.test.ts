/** A server is killed in the middle of pushes: nothing is half there, and the push succeeds afterwards. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { ended, Installation, pidOf } from './harness/installation.ts';
import { signal } from './harness/processes.ts';
import { Project } from './harness/project.ts';

const fileBytes = 10_000_000;
/** Of a push, before the server is killed. */
const passedBytes = 4_000_000;
const environment = {
  PATH: process.env.PATH ?? '',
  HOME: tmpdir(),
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_CONFIG_COUNT: '1',
  // As the server's own: the folders belong to its user of git.
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
};

describe('a server killed during a push', () => {
  let headgate: Installation;
  let client: ApiClient;
  let project: Project;
  const folder = mkdtempSync(join(tmpdir(), 'headgate-killed-push-'));
  const repositories = join(folder, 'repositories');
  const tree = mkdtempSync(join(folder, 'tree-'));

  const runGit = (args: readonly string[], cwd = tree): Promise<{ code: number; text: string }> =>
    new Promise((resolve) => {
      execFile('git', [...args], { cwd, env: environment }, (failure, stdout, stderr) =>
        resolve({ code: failure === null ? 0 : 1, text: `${stdout}${stderr}` }),
      );
    });
  const git = async (...args: string[]): Promise<string> => {
    const { code, text } = await runGit(args);
    assert.equal(code, 0, text);
    return text.trim();
  };
  const url = (port = headgate.port) =>
    `http://${headgate.clientId}:${headgate.clientSecret}@127.0.0.1:${port}/git/${project.id}.git`;
  const bare = () => join(repositories, `${project.id}.git`);
  const listIncoming = () => {
    const objects = join(bare(), 'objects');
    return existsSync(objects) ? readdirSync(objects).filter((name) => name.startsWith('incoming-')) : [];
  };

  before(async () => {
    // The user of git enters it.
    chmodSync(folder, 0o711);
    const settings = { HEADGATE_LOCAL_AGENT: 'off', HEADGATE_REPOSITORIES_DIR: repositories };
    headgate = await Installation.create({ environment: settings });
    await git('init', '-q', '-b', 'main');
    writeFileSync(join(tree, 'large.bin'), randomBytes(fileBytes));
    await git('add', '-A');
    await git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-q', '-m', 'large');
  });
  after(async () => {
    await headgate.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it('leaves a sound repository without the branch', async () => {
    const start = await headgate.start();
    client = headgate.client();
    project = await Project.create(client);
    const repository = { provider: 'headgate', repositoryName: 'pipelines', providerParameters: {} };
    await client.ask('POST', `${project.path}/repositories`, repository);
    const proxy = await startHoldingProxy(headgate.port);
    const pushing = runGit(['push', url(proxy.port), 'main']);
    await waitUntil('the quarantine', 120, () => listIncoming().length > 0);
    signal(pidOf(start), 'SIGKILL');
    await ended(start);
    assert.notEqual((await pushing).code, 0);
    proxy.close();
    const checked = await runGit(['fsck', '--full'], bare());
    assert.equal(checked.code, 0, checked.text);
    assert.equal((await runGit(['for-each-ref'], bare())).text, '');
  });

  it('takes the push after the next start', async () => {
    await headgate.start();
    await git('push', '-q', url(), 'main');
    assert.match(
      await git('ls-remote', url(), 'refs/heads/main'),
      new RegExp(await git('rev-parse', 'HEAD')),
    );
    const checked = await runGit(['fsck', '--full', '--strict'], bare());
    assert.equal(checked.code, 0, checked.text);
  });
});

/** Passes on only the first bytes of each connection, so that a push cannot end before the server is killed. */
async function startHoldingProxy(target: number): Promise<{ port: number; close(): void }> {
  const server = createServer((here) => {
    const there = connect(target, '127.0.0.1');
    let left = passedBytes;
    here.on('data', (bytes) => {
      there.write(bytes.subarray(0, left));
      left -= Math.min(left, bytes.length);
    });
    there.pipe(here);
    for (const socket of [here, there]) socket.on('error', () => undefined);
    here.on('close', () => there.destroy());
    there.on('close', () => here.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}
