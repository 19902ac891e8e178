import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { OfRun } from '../engine/ports/run-messages.ts';
import { createConversation } from './conversation.ts';
import type { RunOptions } from './run-options.ts';

const question = { type: 'file-download', run: 1, id: 1, address: 'https://example.com/a', unpacks: false };

test('the end of a run ends its downloads, and leaves no file of one that still opens it', async (t) => {
  const filesFolder = mkdtempSync(join(tmpdir(), 'headgate-conversation-'));
  t.after(() => rmSync(filesFolder, { recursive: true, force: true }));
  const begun = Promise.withResolvers<AbortSignal>();
  const opening = Promise.withResolvers<void>();
  const options = {
    files: { filesFolder },
    kill: new AbortController().signal,
    async download(_: string, path: string, __: boolean, signal: AbortSignal) {
      begun.resolve(signal);
      await opening.promise;
      writeFileSync(path, '1');
      signal.throwIfAborted();
    },
  } as unknown as RunOptions;
  const conversation = createConversation(options, [], () => assert.fail('the run has no process any more'));
  conversation.receive(question as OfRun);
  const signal = await begun.promise;
  // The process of the run has died: nothing but the end of the run ends the download.
  conversation.fail('it died');
  const closed = conversation.close().then(() => readdirSync(filesFolder));
  // Lets a close that does not wait go as far as it can.
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
  opening.resolve();
  assert.deepEqual(await closed, []);
  await new Promise(setImmediate);
  assert.deepEqual(readdirSync(filesFolder), []);
  assert.equal(signal.aborted, true);
});
