/** The launcher of git, killed. */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { processIdentity } from '../../../../../scripts/process-lock.mjs';
import { waitUntil } from '../../../testing/waiting.ts';
import { createLog } from '../../kernel/log.ts';
import { createGit } from './index.ts';

const onlyLinux = { skip: process.platform === 'linux' ? false : 'reads /proc' };
const folder = await mkdtemp(join(tmpdir(), 'headgate-launched-'));
const stopping = new AbortController();
after(async () => {
  stopping.abort();
  await rm(folder, { recursive: true, force: true });
});
const git = createGit({
  folder: join(folder, 'git'),
  searchPath: process.env.PATH,
  mostBytes: 1_000_000,
  processes: { ofServer: 2, ofAccount: 2 },
  log: createLog('error', { write: () => undefined }),
  stopping: stopping.signal,
});
const repository = join(folder, 'r.git');
await git.makeRepository(repository);
const call = { folder: repository, accountId: 'a' };

interface Process {
  pid: number;
  parent: number;
  words: string[];
}

function listProcesses(): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const parent = Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]);
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return [{ pid: Number(pid), parent, words }];
      } catch {
        return [];
      }
    });
}

const findLauncher = (server = process.pid): Process =>
  listProcesses().find(
    ({ parent, words }) => parent === server && words.some((word) => word.endsWith('launcher-process.ts')),
  ) ?? assert.fail('there is no launcher');

/** Its last argument is the socket, in a folder of its own. */
const findSocketFolder = ({ words }: Process): string =>
  join(words.find((word) => word.includes('headgate-git-')) ?? assert.fail('no socket'), '..');

test(
  'a killed launcher fails what runs, with its git, and the next call has another one',
  onlyLinux,
  async () => {
    const waiting = await git.spawn(['cat-file', '--batch'], call);
    const launcher = findLauncher();
    const isRunning = () => listProcesses().some(({ parent }) => parent === launcher.pid);
    assert.ok(isRunning());
    process.kill(launcher.pid, 'SIGKILL');
    await assert.rejects(waiting.ended, { code: 'git-failed', message: /The launcher of git has ended/ });
    await waitUntil('git has ended too', 120, async () => !isRunning());
    assert.ok(!existsSync(findSocketFolder(launcher)));
    assert.equal((await git.run(['rev-parse', '--is-bare-repository'], call)).stdout.toString(), 'true\n');
    assert.notEqual(findLauncher().pid, launcher.pid);
  },
);

test('a killed server leaves neither the launcher nor its folder', onlyLinux, async (t) => {
  const server: ChildProcess = fork(
    fileURLToPath(new URL('../../../testing/launching-process.ts', import.meta.url)),
    [repository],
  );
  t.after(() => server.kill('SIGKILL'));
  await once(server, 'message');
  const launcher = findLauncher(server.pid);
  const socketFolder = findSocketFolder(launcher);
  assert.ok(existsSync(socketFolder));
  server.kill('SIGKILL');
  await waitUntil('the launcher has ended', 120, () => processIdentity(launcher.pid) === undefined);
  assert.ok(!existsSync(socketFolder));
});
