/** A server is killed during an upload: no version appears, and the stored bytes are removed later. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { onDatabaseOf } from './harness/database.ts';
import { ended, Installation, pidOf } from './harness/installation.ts';
import { signal } from './harness/processes.ts';
import { Project } from './harness/project.ts';

const boundary = 'boundary-of-a-test';
const fileBytes = 4_000_000;
/** More than two packs. */
const files = 6;

function part(index: number): string {
  const text = randomBytes(fileBytes / 2).toString('hex');
  return `--${boundary}\r\ncontent-disposition: form-data; name="f${index}"\r\n\r\n${text}\r\n`;
}

describe('a server killed during an upload', () => {
  let headgate: Installation;
  let client: ApiClient;
  let project: Project;
  before(async () => {
    const environment = { HEADGATE_LOCAL_AGENT: 'off', HEADGATE_BLOB_COLLECTION_SECONDS: '1' };
    headgate = await Installation.create({ environment });
  });
  after(() => headgate.remove());

  const blobs = () => join(headgate.dataDirectory, 'blobs');
  const stored = () =>
    existsSync(blobs())
      ? readdirSync(blobs(), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
      : [];
  const details = () => client.call('GET', `${project.path}/artifacts/details?environmentName=dev`);

  it('leaves stored bytes and no version', async () => {
    const start = await headgate.start();
    client = headgate.client();
    project = await Project.create(client);
    const socket = connect(headgate.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(
      `POST /dpc${project.path}/artifacts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${client.tokens.at(-1)}\r\n` +
        `environmentName: dev\r\nversionName: 1\r\ncontent-type: multipart/form-data; boundary=${boundary}\r\n` +
        `content-length: ${files * (fileBytes + 200)}\r\n\r\n`,
    );
    for (let index = 0; index < files; index++) socket.write(part(index));
    await waitUntil('a stored pack', 120, () => stored().some(({ name }) => !name.endsWith('.part')));
    signal(pidOf(start), 'SIGKILL');
    await ended(start);
    socket.destroy();
    assert.ok(stored().length > 0);
  });

  it('after the next start, the version does not exist and can be uploaded', async () => {
    await headgate.start();
    assert.equal((await details()).body.code, 'artifact-not-found');
    await project.publish({ 'notes.txt': 'the text' });
    assert.deepEqual((await details()).body.assets, ['notes.txt']);
  });

  it('removes the remaining bytes after the grace period', async () => {
    await waitUntil('the end of the leftovers', 120, () =>
      onDatabaseOf(headgate, async (query) => {
        // Moves the grace period into the past.
        await query("update blob_object set since = since - interval '2 days' where state <> 'live'");
        const [row] = await query<{ left: number }>(
          "select count(*)::int as left from blob_object where state <> 'live'",
        );
        return row?.left === 0 && stored().length === 1;
      }),
    );
    assert.deepEqual((await details()).body.assets, ['notes.txt']);
  });
});
