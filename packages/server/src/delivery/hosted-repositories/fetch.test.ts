/** The time that a fetch may do nothing. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { after, test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { commitFiles } from '../../../testing/git-host.ts';
import { createLog } from '../../kernel/log.ts';
import { createGit, openGitRepository } from '../git/index.ts';
import { answerFetch } from './fetch.ts';

const folder = await mkdtemp(join(tmpdir(), 'headgate-fetch-'));
const stopping = new AbortController();
after(async () => {
  stopping.abort();
  await rm(folder, { recursive: true, force: true });
});
const log = createLog('error', { write: () => undefined });
const git = createGit({
  folder: join(folder, 'git'),
  searchPath: process.env.PATH,
  mostBytes: 100_000_000,
  // The second fetch gets its turn only when the first has ended.
  processes: { ofServer: 1, ofAccount: 1 },
  log,
  stopping: stopping.signal,
});
const path = join(folder, 'large.git');
await git.makeRepository(path);
// More than the buffers between git and the client hold.
const head = commitFiles(path, { files: { 'large.bin': randomBytes(8_000_000) } });

/** A fetch that may be idle for this time, of a client that has sent these lines so far. */
function beginFetch(lines: readonly string[], idleMilliseconds: number): Promise<Readable> {
  const raw = new PassThrough();
  for (const line of lines) raw.write(line);
  const request = { id: 'r', headers: {}, raw: Object.assign(raw, { headers: {} }) };
  return answerFetch({ git, log, idleMilliseconds }, request as unknown as FastifyRequest, {
    accountId: 'a',
    repository: openGitRepository(git, { folder: path, accountId: 'a' }),
  });
}

test('a fetch whose client sends nothing more is ended, with the reason', async () => {
  await assert.rejects(beginFetch(['0032want '], 300), { code: 'request-timeout' });
});

test('a fetch whose client reads nothing more is cut off', { timeout: 120_000 }, async () => {
  // The first bytes of git count too, and a busy machine may need long for them.
  const output = await beginFetch([`0032want ${head}\n`, '0000', '0009done\n'], 5_000);
  const closed = new Promise((resolve) => output.once('close', resolve));
  await assert.rejects(async () => {
    // The first chunk is read, and then none until git was ended.
    for await (const _ of output) await closed;
  }, /./);
});
