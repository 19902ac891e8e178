import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { decidePlaces, type Places, type PlacesRequest } from './places.ts';
import { ensureSystemUser, findFirstRefused, findUser, isRoot } from './process-users.ts';

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

/** Like a clone in a home directory that only its owner may enter. */
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

test('an instance keeps its id; an emptied data directory becomes a new instance', () => {
  const first = decide({ embeddedPostgres: false });
  assert.equal(decide({ embeddedPostgres: false }).instanceId, first.instanceId);
  rmSync(first.dataDirectory, { recursive: true });
  assert.notEqual(decide({ embeddedPostgres: false }).instanceId, first.instanceId);
});

test('disabled parts get no place', () => {
  const places = decide({ embeddedPostgres: false });
  assert.equal(places.postgres, undefined);
  assert.equal(places.agent, undefined);
  assert.equal(places.locations.length, 1);
});

test("root: PostgreSQL's folders are in the data directory if its user can enter it", rootOnly, () => {
  openTheWay();
  const { postgres, dataDirectory, locations: kept } = decide();
  assert.equal(postgres?.dataDirectory, join(dataDirectory, 'postgres'));
  assert.equal(postgres.user?.name, 'headgate-postgres');
  const socket = statSync(postgres.socketDirectory);
  assert.deepEqual([socket.uid, socket.mode & 0o777], [postgres.user?.uid, 0o700]);
  assert.ok(kept.some((line) => line.includes(postgres.dataDirectory) && line.includes('headgate-postgres')));
});

test("root: otherwise they are in the system's state folder, by instance", rootOnly, () => {
  closeTheWay();
  const { postgres, instanceId, dataDirectory } = decide();
  const ofInstance = join(folder, 'state', instanceId);
  assert.equal(postgres?.dataDirectory, join(ofInstance, 'postgres'));
  assert.equal(readFileSync(join(ofInstance, 'belongs-to'), 'utf8'), `${dataDirectory}\n`);
});

test('root: data stays in its folder when modes of parent folders change', rootOnly, () => {
  closeTheWay();
  const closed = decide().postgres?.dataDirectory ?? '';
  const made = spawnSync('mkdir', ['-p', closed]);
  assert.equal(made.status, 0);
  openTheWay();
  assert.equal(decide().postgres?.dataDirectory, closed);
});

test('root: unreachable data is an error, not replaced by an empty folder elsewhere', rootOnly, () => {
  openTheWay();
  const open = decide().postgres?.dataDirectory ?? '';
  spawnSync('mkdir', ['-p', open]);
  closeTheWay();
  assert.throws(() => decide(), /can no longer enter .*chmod o\+x/);
});

test('root: PostgreSQL and the agent run as two different users, neither of them root', rootOnly, () => {
  openTheWay();
  assert.throws(
    () => decide({ localAgent: true, postgresUser: 'nobody', agentUser: 'nobody' }),
    /HEADGATE_POSTGRES_USER and HEADGATE_AGENT_USER are the same user/,
  );
  assert.throws(() => decide({ postgresUser: 'root' }), /HEADGATE_POSTGRES_USER: 'root' is root/);
});

test('root: a user that cannot be created gives an error with the remedy', rootOnly, () => {
  assert.throws(
    () => ensureSystemUser('not a user name', 'HEADGATE_AGENT_USER'),
    /needs the unprivileged user 'not a user name'.*set HEADGATE_AGENT_USER to another user/,
  );
  assert.equal(findUser('not a user name'), undefined);
});

test('a socket path that is too long is replaced by a short one', () => {
  chmodSync(folder, 0o711);
  const dataDirectory = join(folder, 'x'.repeat(120), 'data');
  const { postgres } = decide({ dataDirectory });
  assert.ok(postgres);
  assert.ok(Buffer.byteLength(join(postgres.socketDirectory, '.s.PGSQL.5432')) <= 107);
  assert.equal(statSync(postgres.socketDirectory).mode & 0o777, 0o700);
  assert.equal(decide({ dataDirectory }).postgres?.socketDirectory, postgres.socketDirectory);
  rmSync(postgres.socketDirectory, { recursive: true });
});

test('for an ordinary user everything is in the data directory', (t) => {
  const code = `
    import { decidePlaces } from ${JSON.stringify(new URL('places.ts', import.meta.url).href)};
    const request = ${JSON.stringify({ dataDirectory: join(folder, 'data'), checkout, embeddedPostgres: true, localAgent: false })};
    console.log(JSON.stringify(decidePlaces(request)));`;
  chmodSync(folder, 0o777);
  const user = isRoot() ? ensureSystemUser('headgate-agent', 'HEADGATE_AGENT_USER') : undefined;
  if (
    user &&
    findFirstRefused(user, [
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
