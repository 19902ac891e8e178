import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { takeInstanceLock } from './instance-lock.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-instance-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('a second start names the process that holds the data directory, since when, and its address', async () => {
  const first = await takeInstanceLock(folder);
  first.announce('http://127.0.0.1:8080');
  await assert.rejects(takeInstanceLock(folder), (error: Error) => {
    assert.match(
      error.message,
      new RegExp(`process ${process.pid}, since \\d{4}-.*Z, at http://127\\.0\\.0\\.1:8080`),
    );
    assert.match(error.message, /HEADGATE_DATA_DIR/);
    return true;
  });
  first.release();
});

test('a start waits for a holder that is stopping', async () => {
  const first = await takeInstanceLock(folder);
  first.stopping();
  const second = takeInstanceLock(folder);
  first.release();
  (await second).release();
});

test('the wait can be aborted', async () => {
  const first = await takeInstanceLock(folder);
  first.stopping();
  const aborting = new AbortController();
  const second = takeInstanceLock(folder, aborting.signal);
  aborting.abort(new Error('aborted by the test'));
  await assert.rejects(second, /aborted by the test/);
  first.release();
});
