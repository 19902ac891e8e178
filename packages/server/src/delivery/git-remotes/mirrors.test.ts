/** Mirrors, with a git and a host that do what a test says. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { problem } from '../../kernel/http/problems.ts';
import type { Git, GitResult } from '../git/index.ts';
import { createMirrors, type Mirrored } from './mirrors.ts';
import type { Remotes } from './remote.ts';

const folder = await mkdtemp(join(tmpdir(), 'headgate-mirrors-'));
after(() => rm(folder, { recursive: true, force: true }));

const remote = {
  url: 'http://127.0.0.1/s/x/',
  environment: {},
  readFailure: async () => undefined,
  close: () => undefined,
};
const done: GitResult = { code: 0, stdout: Buffer.from(''), stderr: '', isCut: false };

function openMirrors(name: string, run: (command: string, folder: string) => Promise<GitResult>) {
  const git = {
    run: (args: readonly string[], call: { folder: string }) => run(args[0] ?? '', call.folder),
    makeFolder: (path: string) => mkdir(path, { recursive: true }),
    makeRepository: async () => undefined,
  } as unknown as Git;
  const remotes = { openRemote: async () => remote } as unknown as Remotes;
  const clock = { now: () => new Date() };
  const mirrors = createMirrors({ git, remotes, folder: join(folder, name), clock, mostBytes: 1_000_000 });
  const of: Mirrored = {
    accountId: 'a',
    projectId: 'p',
    url: 'https://git.example.com/acme/p.git',
    credential: undefined,
    credentialName: 'none',
    wantsDefaultBranch: true,
  };
  return { mirrors, of };
}

test('a push does not let a second fetch begin while one is under way', async () => {
  const gates: (() => void)[] = [];
  let underWay = 0;
  let most = 0;
  const { mirrors, of } = openMirrors('push', async (command) => {
    if (command !== 'fetch') return done;
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise<void>((resolve) => gates.push(resolve));
    underWay -= 1;
    return done;
  });
  const openGate = async () => {
    while (gates.length === 0) await new Promise(setImmediate);
    gates.shift()?.();
  };
  const first = mirrors.refresh(of);
  while (underWay === 0) await new Promise(setImmediate);
  await mirrors.push(of, { name: 'refs/heads/main', from: null, to: 'a'.repeat(40) });
  const second = mirrors.refresh(of);
  // All that comes before its fetch is one read of a file: enough reads of others, and it would have begun.
  for (let turn = 0; turn < 50; turn += 1) await stat(folder);
  await openGate();
  await first;
  await openGate();
  await second;
  assert.equal(most, 1);
});

test('a push writes no ref of the mirror, which a fetch under way may be about to move', async () => {
  const commands: string[] = [];
  const { mirrors, of } = openMirrors('refs', async (command) => {
    commands.push(command);
    return done;
  });
  await mirrors.push(of, { name: 'refs/heads/main', from: null, to: 'a'.repeat(40) });
  await mirrors.refresh(of);
  assert.deepEqual(commands, ['push', 'count-objects', 'ls-remote', 'fetch']);
});

test('a mirror that is too large is repacked, and made again if it stays too large', async () => {
  let kibibytes = 10;
  let after = 10;
  let packs = 1;
  const commands: string[] = [];
  const { mirrors, of } = openMirrors('large', async (command) => {
    commands.push(command);
    if (command === 'repack') kibibytes = after;
    return command === 'count-objects'
      ? {
          ...done,
          stdout: Buffer.from(`size: 0\npacks: ${packs}\nsize-pack: ${kibibytes}\nsize-garbage: 0\n`),
        }
      : done;
  });
  const { folder: at } = await mirrors.refresh(of);
  await writeFile(join(at, 'kept'), '');
  kibibytes = 2_000;
  await mirrors.refresh(of, performance.now());
  assert.deepEqual(
    commands.filter((each) => ['repack', 'prune'].includes(each)),
    ['repack', 'prune'],
  );
  assert.ok(existsSync(join(at, 'kept')));
  packs = 51;
  await mirrors.refresh(of, performance.now());
  assert.equal(commands.filter((each) => each === 'repack').length, 2, 'many packs are joined too');
  assert.ok(existsSync(join(at, 'kept')));
  packs = 1;
  kibibytes = 2_000;
  after = 2_000;
  await mirrors.refresh(of, performance.now());
  assert.equal(existsSync(join(at, 'kept')), false);
});

for (const [how, failure] of [
  ['in time', problem('git-timeout', { seconds: 600 })],
  ['because a limit ends git', problem('git-failed', { command: 'repack', words: 'it was ended' })],
] as const)
  test(`a mirror whose packs cannot be joined ${how} is still used`, async () => {
    let repacks = 0;
    const { mirrors, of } = openMirrors(`slow-${failure.code}`, async (command) => {
      if (command === 'repack') {
        repacks += 1;
        throw failure;
      }
      return command === 'count-objects'
        ? { ...done, stdout: Buffer.from('packs: 51\nsize-pack: 10\n') }
        : done;
    });
    for (let round = 0; round < 2; round += 1)
      assert.ok(existsSync((await mirrors.refresh(of, performance.now())).folder));
    assert.equal(repacks, 1, 'the next request does not wait for it again');
  });

test('a mirror that a killed git left locked is made again, once', async () => {
  const words =
    "error: cannot lock ref 'refs/heads/main': Unable to create '(repository)/main.lock': File exists.";
  let fetches = 0;
  const { mirrors, of } = openMirrors('locked', async (command, at) => {
    if (command !== 'fetch') return done;
    fetches += 1;
    return existsSync(join(at, 'main.lock')) ? { ...done, code: 1, stderr: words } : done;
  });
  const { folder: at } = await mirrors.refresh(of);
  await writeFile(join(at, 'main.lock'), '');
  await mirrors.refresh(of, performance.now());
  assert.equal(fetches, 3);
  assert.equal(existsSync(join(at, 'main.lock')), false);

  const broken = openMirrors('broken', async (command) =>
    command === 'fetch' ? { ...done, code: 1, stderr: words } : done,
  );
  await assert.rejects(broken.mirrors.refresh(broken.of), { code: 'git-host-failed' });
});
