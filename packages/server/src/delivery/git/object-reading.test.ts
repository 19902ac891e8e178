import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { problem } from '../../kernel/http/problems.ts';
import type { Git, GitProcess } from './git.ts';
import { readObjects } from './object-reading.ts';

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
  const git = { spawn: async () => started } as unknown as Git;
  const call = { folder: '/', accountId: 'a', timeoutMilliseconds: 1_000 };
  const id = 'a'.repeat(40);
  const reading = readObjects(git, call, { names: ['a', 'b', 'c'], mostBytes: 1 });
  stdout.write(`${id} blob 1\nx\n`);
  assert.equal(String((await reading.next()).value?.content), 'x');
  t.mock.timers.tick(5_000);
  stdout.write(`${id} blob 1\ny\n`);
  assert.equal(String((await reading.next()).value?.content), 'y');
  const third = reading.next();
  await setImmediate();
  t.mock.timers.tick(1_001);
  await assert.rejects(third, { code: 'git-timeout' });
});
