import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
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
  setImmediate(() => stdout.destroy());
  await assert.rejects(first, { code: 'git-timeout' });
});
