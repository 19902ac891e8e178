import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { decidePlaces, type Places, type PlacesRequest } from './places.ts';
import { findUser, firstRefused, isRoot, systemUser } from './process-users.ts';

const checkout = fileURLToPath(new URL('../../../../../', import.meta.url));
const rootOnly = { skip: isRoot() ? false : 'needs root' };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate places-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function decide(request: Partial<PlacesRequest> = {}): Places {
  return decidePlaces({
    dataDirectory: join(folder, 'private', 'data'),
    checkout,
    embeddedPostgres: true,
    localAgent: false,
    stateDirectory: join(folder, 'state'),
    runDirectory: join(folder, 'run'),
    ...request,
  });
}

/** As for a clone in a home that only its owner may enter. */
function closeTheWay(): void {
  chmodSync(folder, 0o711);
  decide({ embeddedPostgres: false });
  chmodSync(join(folder, 'private'), 0o700);
}

function openTheWay(): void {
  chmodSync(folder, 0o711);
  decide({ embeddedPostgres: false });
  chmodSync(join(folder, 'private'), 0o711);
}

test('an instance keeps its id; an emptied data directory is a new instance', () => {
  const first = decide({ embeddedPostgres: false });
  assert.equal(decide({ embeddedPostgres: false }).instanceId, first.instanceId);
  rmSync(first.dataDirectory, { recursive: true });
  assert.notEqual(decide({ embeddedPostgres: false }).instanceId, first.instanceId);
});

test('parts that are not wanted get no place', () => {
  const places = decide({ embeddedPostgres: false });
  assert.equal(places.postgres, undefined);
  assert.equal(places.agent, undefined);
  assert.equal(places.kept.length, 1);
});

test("root: PostgreSQL's folders lie in the data directory when its user can enter it", rootOnly, () => {
  openTheWay();
  const { postgres, dataDirectory, kept } = decide();
  assert.equal(postgres?.dataDirectory, join(dataDirectory, 'postgres'));
  assert.equal(postgres.user?.name, 'headgate-postgres');
  const socket = statSync(postgres.socketDirectory);
  assert.deepEqual([socket.uid, socket.mode & 0o777], [postgres.user?.uid, 0o700]);
  assert.ok(kept.some((line) => line.includes(postgres.dataDirectory) && line.includes('headgate-postgres')));
});

test("root: they lie in the system's folder, by instance, when it cannot", rootOnly, () => {
  closeTheWay();
  const { postgres, instanceId, dataDirectory } = decide();
  const ofInstance = join(folder, 'state', instanceId);
  assert.equal(postgres?.dataDirectory, join(ofInstance, 'postgres'));
  assert.equal(readFileSync(join(ofInstance, 'belongs-to'), 'utf8'), `${dataDirectory}\n`);
});

test('root: data stays where it is when the modes above it change', rootOnly, () => {
  closeTheWay();
  const closed = decide().postgres?.dataDirectory ?? '';
  const made = spawnSync('mkdir', ['-p', closed]);
  assert.equal(made.status, 0);
  openTheWay();
  assert.equal(decide().postgres?.dataDirectory, closed);
});

test('root: data that has become unreachable is not begun anew elsewhere', rootOnly, () => {
  openTheWay();
  const open = decide().postgres?.dataDirectory ?? '';
  spawnSync('mkdir', ['-p', open]);
  closeTheWay();
  assert.throws(() => decide(), /can no longer enter .*chmod o\+x/);
});

test('root: the agent and PostgreSQL are two users, neither of them root', rootOnly, () => {
  openTheWay();
  assert.throws(
    () => decide({ localAgent: true, postgresUser: 'nobody', agentUser: 'nobody' }),
    /HEADGATE_POSTGRES_USER and HEADGATE_AGENT_USER are the same user/,
  );
  assert.throws(() => decide({ postgresUser: 'root' }), /HEADGATE_POSTGRES_USER: 'root' is root/);
});

test('root: a user that cannot be made is named, with what to do', rootOnly, () => {
  assert.throws(
    () => systemUser('not a user name', 'HEADGATE_AGENT_USER'),
    /needs the unprivileged user 'not a user name'.*name another one by HEADGATE_AGENT_USER/,
  );
  assert.equal(findUser('not a user name'), undefined);
});

test('a socket path that would be too long is made short', () => {
  chmodSync(folder, 0o711);
  const dataDirectory = join(folder, 'x'.repeat(120), 'data');
  const { postgres } = decide({ dataDirectory });
  assert.ok(postgres);
  assert.ok(Buffer.byteLength(join(postgres.socketDirectory, '.s.PGSQL.5432')) <= 107);
  assert.equal(statSync(postgres.socketDirectory).mode & 0o777, 0o700);
  assert.equal(decide({ dataDirectory }).postgres?.socketDirectory, postgres.socketDirectory);
  rmSync(postgres.socketDirectory, { recursive: true });
});

test('an ordinary user has everything in the data directory', (t) => {
  const code = `
    import { decidePlaces } from ${JSON.stringify(new URL('places.ts', import.meta.url).href)};
    const request = ${JSON.stringify({ dataDirectory: join(folder, 'data'), checkout, embeddedPostgres: true, localAgent: false })};
    console.log(JSON.stringify(decidePlaces(request)));`;
  chmodSync(folder, 0o777);
  const user = isRoot() ? systemUser('headgate-agent', 'HEADGATE_AGENT_USER') : undefined;
  if (
    user &&
    firstRefused(user, [
      ['-x', process.execPath],
      ['-r', fileURLToPath(import.meta.url)],
    ])
  ) {
    return t.skip('this checkout is out of reach of ordinary users');
  }
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    cwd: '/',
    env: {},
    ...(user ? { uid: user.uid, gid: user.gid } : {}),
  });
  assert.equal(run.status, 0, run.stderr);
  const places: Places = JSON.parse(run.stdout);
  assert.equal(places.postgres?.dataDirectory, join(folder, 'data', 'postgres'));
  assert.equal(places.postgres?.socketDirectory, join(folder, 'data', 'socket'));
  assert.equal(places.postgres?.user, undefined);
  assert.equal(statSync(join(folder, 'data')).mode & 0o777, 0o700);
  assert.ok(existsSync(join(folder, 'data', 'instance-id')));
});
