/** A route without an operation is open to strangers: JSON that is sent to it is neither decompressed nor parsed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
/** Eight megabytes in some twenty bytes. */
const zeros = brotliCompressSync(Buffer.from(`[${'0,'.repeat(4_000_000)}0]`));
/** Of the processor: to parse it takes hundreds. */
const mostMilliseconds = 50;

for (const url of ['/mail/x', '/git/x/git-upload-pack', '/git/x/git-receive-pack', '/nothing'])
  test(`POST ${url}`, async () => {
    const send = () =>
      server.transport({
        method: 'POST',
        url,
        headers: { 'content-type': 'application/json', 'content-encoding': 'br' },
        body: zeros,
      });
    // The first request loads code.
    await send();
    const before = process.threadCpuUsage();
    const { status } = await send();
    const { user, system } = process.threadCpuUsage(before);
    assert.ok(status >= 400 && status < 500, `${status}`);
    assert.ok((user + system) / 1_000 < mostMilliseconds, `${(user + system) / 1_000} ms`);
  });
