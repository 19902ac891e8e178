import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { roundsOr } from '@headgate/contract/testing/rounds';
import { Client } from 'pg';
import { waitUntil } from '../../../testing/waiting.ts';
import { decidePlaces, type PostgresPlaces } from '../host/places.ts';
import { isRoot } from '../host/process-users.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';
import { listProcessesIn } from './processes-in-directory.ts';

const checkout = fileURLToPath(new URL('../../../../../', import.meta.url));
const silent = { info: () => {}, warn: () => {}, error: () => {} };

let folder: string;
let places: PostgresPlaces;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate postgres-'));
  if (isRoot()) chmodSync(folder, 0o711);
  places = placesIn('data');
  const postgres = await start();
  await query(postgres, 'create table kept (round int primary key)');
  await postgres.stop();
});
after(() => rmSync(folder, { recursive: true, force: true }));

function placesIn(name: string): PostgresPlaces {
  const { postgres } = decidePlaces({
    dataDirectory: join(folder, name),
    checkout,
    embeddedPostgres: true,
    localAgent: false,
    stateDirectory: join(folder, 'state'),
  });
  assert.ok(postgres);
  return postgres;
}

function start(where = places): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ ...where, log: silent });
}

async function query(postgres: EmbeddedPostgres, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: postgres.connectionUrl() });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

function becomes(postgres: EmbeddedPostgres, expected: string): Promise<void> {
  return new Promise((resolve) => {
    const end = postgres.onChange((state) => {
      if (state !== expected) return;
      end();
      resolve();
    });
  });
}

/** Starts a process that keeps PostgreSQL running, like the server. */
function keeper(): ChildProcess {
  const module = new URL('embedded-postgres.ts', import.meta.url).href;
  const code = `import { startEmbeddedPostgres } from ${JSON.stringify(module)};
    const log = { info() {}, warn() {}, error() {} };
    const postgres = await startEmbeddedPostgres({ ...${JSON.stringify(places)}, log });
    console.log(postgres.pid);`;
  return spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

test('it is durable, uses UTF-8, and listens only on its socket', async () => {
  const postgres = await start();
  const settings = await query(
    postgres,
    `select name, setting from pg_settings where name in
     ('fsync', 'synchronous_commit', 'full_page_writes', 'server_encoding', 'listen_addresses') order by name`,
  );
  assert.deepEqual(
    settings.map(({ name, setting }) => `${name}=${setting}`),
    ['fsync=on', 'full_page_writes=on', 'listen_addresses=', 'server_encoding=UTF8', 'synchronous_commit=on'],
  );
  await postgres.stop();
  assert.equal(postgres.state, 'stopped');
  assert.deepEqual(listProcessesIn(places.dataDirectory), []);
});

test('a killed postmaster is restarted', async () => {
  const postgres = await start();
  const pid = postgres.pid ?? 0;
  const back = becomes(postgres, 'ready');
  process.kill(pid, 'SIGKILL');
  await back;
  assert.notEqual(postgres.pid, pid);
  assert.deepEqual(await query(postgres, 'select 1 as one'), [{ one: 1 }]);
  await postgres.stop();
});

test('when the supervisor is killed, the postmaster is replaced', async () => {
  const postgres = await start();
  const pid = postgres.pid ?? 0;
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const supervisor = Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ')[0]);
  const back = becomes(postgres, 'ready');
  process.kill(supervisor, 'SIGKILL');
  await back;
  assert.equal(existsSync(`/proc/${pid}/cwd`), false);
  assert.deepEqual(await query(postgres, 'select 1 as one'), [{ one: 1 }]);
  await postgres.stop();
});

test('when the keeping process is killed, PostgreSQL shuts down', async () => {
  const child = keeper();
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  assert.notEqual(listProcessesIn(places.dataDirectory).length, 0);
  child.kill('SIGKILL');
  await waitUntil('the end of PostgreSQL', 120, () => listProcessesIn(places.dataDirectory).length === 0);
  assert.equal(existsSync(join(places.dataDirectory, 'postmaster.pid')), false);
});

/** Each of the four ways to kill, once; `npm run soak` runs more rounds. */
const kills = roundsOr(4);

test('every start recovers all commits after a kill of the keeper, the postmaster, or both', async () => {
  for (let round = 0; round < kills; round++) {
    const child = keeper();
    const pid = await new Promise<number>((resolve) =>
      child.stdout?.once('data', (text) => resolve(Number(text))),
    );
    const gone = ended(child);
    // Both orders, and each alone. With the keeper alone, PostgreSQL is still shutting down at the next
    // start.
    if (round % 4 === 0) process.kill(pid, 'SIGKILL');
    if (round % 4 !== 3) child.kill('SIGKILL');
    if (round % 4 === 1) process.kill(pid, 'SIGKILL');
    if (round % 4 === 3) {
      process.kill(pid, 'SIGSTOP');
      child.kill('SIGKILL');
      process.kill(pid, 'SIGCONT');
    }
    await gone;
    const postgres = await start();
    await query(postgres, `insert into kept values (${round})`);
    assert.deepEqual(await query(postgres, 'select count(*)::int as rows from kept'), [{ rows: round + 1 }]);
    const last = postgres.pid ?? 0;
    process.kill(last, 'SIGKILL');
    await postgres.stop();
  }
});

test('a first start that was killed is repeated', async () => {
  const module = new URL('postgres-data-directory.ts', import.meta.url).href;
  const drafts = () =>
    readdirSync(dirname(fresh.dataDirectory)).filter((name) => name.startsWith('postgres.new-'));
  let fresh: ReturnType<typeof placesIn>;
  let attempts = 0;
  // On a busy machine it may be complete before this process looks or kills: then try again.
  do {
    attempts += 1;
    assert.ok(attempts < 10, 'no attempt was killed in time');
    fresh = placesIn(`fresh ${attempts}`);
    const code = `import { initializeDataDirectory } from ${JSON.stringify(module)}; await initializeDataDirectory(${JSON.stringify(fresh)});`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
    const gone = ended(child);
    await waitUntil(
      'files of initdb',
      120,
      () =>
        existsSync(fresh.dataDirectory) ||
        drafts().some((name) => existsSync(join(fresh.dataDirectory, '..', name, 'base'))),
    );
    child.kill('SIGKILL');
    await gone;
  } while (existsSync(fresh.dataDirectory));
  const postgres = await start(fresh);
  assert.deepEqual(await query(postgres, 'select current_database() as name'), [{ name: 'headgate' }]);
  assert.deepEqual(drafts(), []);
  await postgres.stop();
});

test('a folder with other files is refused and not changed', async () => {
  const where = { ...places, dataDirectory: join(folder, 'letters') };
  mkdirSync(where.dataDirectory);
  writeFileSync(join(where.dataDirectory, 'letter.txt'), 'Dear');
  await assert.rejects(start(where), /has files, but no PostgreSQL data/);
  assert.ok(existsSync(join(where.dataDirectory, 'letter.txt')));
});

test('a failed start reports PostgreSQL’s message, and leaves no process', async () => {
  const broken = placesIn('broken');
  await (await start(broken)).stop();
  writeFileSync(join(broken.dataDirectory, 'postgresql.conf'), 'shared_buffers = plenty\n');
  await assert.rejects(start(broken), /invalid value for parameter "shared_buffers"/);
  assert.deepEqual(listProcessesIn(broken.dataDirectory), []);
});

test('data of another major version is refused with the remedy', async () => {
  const old = placesIn('old');
  await (await start(old)).stop();
  writeFileSync(join(old.dataDirectory, 'PG_VERSION'), '15\n');
  await assert.rejects(start(old), /created by PostgreSQL 15; this Headgate has PostgreSQL 18.*DATABASE_URL/);
});
