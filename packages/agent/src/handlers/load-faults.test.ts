/** Loads into the embedded warehouse on a full disk, and whose processes die. The disks are small file systems. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, it, type TestContext } from 'node:test';
import { type ConnectorScene, openConnectorScene } from '../../testing/connector-scene.ts';
import { type FakeS3, startFakeS3 } from '../../testing/fake-s3.ts';

let s3: FakeS3;
let scene: ConnectorScene;
let mounted: string[] = [];

beforeEach(async () => {
  s3 = await startFakeS3();
  const { accessKeyId, secretAccessKey } = s3;
  scene = await openConnectorScene(new Map([['lake', JSON.stringify({ accessKeyId, secretAccessKey })]]));
});
afterEach(async () => {
  for (const folder of mounted) execFileSync('umount', ['-l', folder]);
  mounted = [];
  await scene.close();
  await s3.close();
});

/** Returns whether a file system could be mounted on the folder; else the test is skipped. */
function mountSmall(folder: string, megabytes: number, t: TestContext): boolean {
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch {
    t.skip('this user cannot mount a tmpfs');
    return false;
  }
  mounted.push(folder);
  return true;
}

const load = () =>
  scene.run(
    {
      'main.orch.yaml': JSON.stringify({
        type: 'orchestration',
        version: '1.0',
        pipeline: {
          components: {
            Start: { type: 'start', transitions: { unconditional: ['It'] } },
            It: {
              type: 's3-load',
              parameters: {
                ...{ s3ObjectPrefix: `s3://${s3.bucket}/in/`, endpoint: s3.endpoint, credentials: 'lake' },
                targetTable: 't',
              },
            },
          },
        },
      }),
    },
    'main',
  );

/** Bytes that no compression makes small. */
const createRows = (bytes: number) =>
  Array.from(
    { length: bytes / 1_024 },
    () => `${randomBytes(383).toString('base64')}\n${randomBytes(383).toString('base64')}\n`,
  ).join('');

async function requireNextRun(): Promise<void> {
  const database = await scene.connect();
  try {
    assert.deepEqual((await database.query('select count(*)::integer from t', 1)).rows, [[0]]);
    s3.objects.clear();
    s3.put('in/next.csv', 'next\n');
    const next = await load();
    assert.equal(next.status, 'SUCCESS', next.message);
    assert.deepEqual((await database.query('select * from t', 10)).rows, [['next']]);
  } finally {
    await database.close();
  }
}

async function createTable(): Promise<void> {
  const database = await scene.connect();
  await database.execute('create table t (text varchar)');
  await database.close();
}

describe('a load on a full disk', () => {
  it('while objects are fetched fails in words, and the next one works', async (t) => {
    if (!mountSmall(scene.filesFolder, 4, t)) return;
    await createTable();
    s3.put('in/a.csv', createRows(8 * 1_048_576));
    const { status, message } = await load();
    assert.equal(status, 'FAILED');
    assert.match(message ?? '', /the disk of the agent is full: "in\/a.csv" was not fetched; free space/);
    assert.deepEqual(readdirSync(scene.filesFolder), []);
    await requireNextRun();
  });

  it('of the database fails in words, and the next one works', async (t) => {
    if (!mountSmall(dirname(scene.databaseFile), 12, t)) return;
    await createTable();
    s3.put('in/a.csv', createRows(24 * 1_048_576));
    const { status, message } = await load();
    assert.equal(status, 'FAILED');
    assert.match(message ?? '', /the disk of the agent is full.*free space/s);
    assert.deepEqual(readdirSync(scene.filesFolder), []);
    await requireNextRun();
  });
});

/** The processes of the database. */
function listProcesses(): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const files = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
      return files.includes(scene.databaseFile);
    } catch {
      return false;
    }
  });
}

describe('a load whose database dies', () => {
  it('leaves nothing, and the next one works', async () => {
    await createTable();
    s3.put('in/a.csv', createRows(8 * 1_048_576));
    s3.put('in/b.csv', createRows(64 * 1_048_576));
    const running = load();
    running.catch(() => undefined);
    let ended = false;
    void running.finally(() => {
      ended = true;
    });
    const { promise: fetched, resolve } = Promise.withResolvers<void>();
    s3.intercept = ({ method, key }, response) => {
      if (method === 'GET' && key === 'in/b.csv') response.once('close', resolve);
      return false;
    };
    await fetched;
    // The rows of the first file are written in a transaction by now, or soon.
    const pids = listProcesses();
    assert.ok(pids.length > 0 && !ended);
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    const { status, message } = await running;
    assert.equal(status, 'FAILED');
    assert.match(message ?? '', /the warehouse’s process was killed by SIGKILL: start the run again/);
    assert.deepEqual(readdirSync(scene.filesFolder), []);
    await requireNextRun();
  });
});
