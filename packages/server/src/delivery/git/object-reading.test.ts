import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { problem } from '../../kernel/http/problems.ts';
import type { Git, GitCall, GitProcess } from './git.ts';
import { readObjects } from './object-reading.ts';
import { openGitRepository } from './open-repository.ts';

test('a reading that the time limit of git ends says so', async () => {
  const stdout = new PassThrough();
  const ended = Promise.reject(problem('git-timeout', { seconds: 60 }));
  ended.catch(() => undefined);
  const started: GitProcess = { stdin: new PassThrough(), stdout, ended, kill: () => undefined };
  const git = { spawn: async () => started } as unknown as Git;
  const reading = readObjects(git, { folder: '/', accountId: 'a' }, { names: ['a'], mostBytes: 1 });
  const first = reading.next();
  void setImmediate().then(() => stdout.destroy());
  await assert.rejects(first, { code: 'git-timeout' });
});

test('the time limit counts the silence of git, not what the reader does meanwhile', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const stdout = new PassThrough();
  const ended = new Promise<never>(() => undefined);
  const kill = () => void stdout.destroy();
  const started: GitProcess = { stdin: new PassThrough(), stdout, ended, kill };
  const requests: GitCall[] = [];
  const spawn: Git['spawn'] = async (_args, input) => {
    requests.push(input);
    return started;
  };
  const git = { spawn } as unknown as Git;
  const use = { folder: '/', accountId: 'a', timeoutMilliseconds: 1_000 };
  const id = 'a'.repeat(40);
  const reading = openGitRepository(git, use).readBlobs(['a', 'b', 'c'], 1, 'long')[Symbol.asyncIterator]();
  stdout.write(`${id} blob 1\nx\n`);
  assert.equal(String((await reading.next()).value), 'x');
  t.mock.timers.tick(5_000);
  stdout.write(`${id} blob 1\ny\n`);
  assert.equal(String((await reading.next()).value), 'y');
  const third = reading.next();
  await setImmediate();
  t.mock.timers.tick(1_001);
  await assert.rejects(third, { code: 'git-timeout' });
  const [{ kind, timeoutMilliseconds = 0 } = use as GitCall] = requests;
  assert.equal(kind, 'long', 'a slow reader takes no turn of the short calls');
  assert.ok(timeoutMilliseconds > 3_600_000, 'the process lives as long as its reader takes');
});
