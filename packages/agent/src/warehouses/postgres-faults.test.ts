/** What goes wrong on the way to PostgreSQL, and what is said of it. */
import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, describe, it } from 'node:test';
import { parseEgressAllow } from '@headgate/contract/egress';
import { createTestPostgres } from '../../testing/postgres.ts';
import { isPermanentFault } from '../permanent-fault.ts';
import { createPostgresDriver } from './postgres.ts';

const postgres = await createTestPostgres();
const { driver, target, change } = postgres;
after(() => postgres.drop());

const allow = parseEgressAllow(['127.0.0.0/8', '169.254.0.0/16']);
const fails = (words: RegExp, tested = target, by = driver) => assert.rejects(by.connect(tested), words);

describe('a connection is refused with what to do', () => {
  it('the password is wrong', () => {
    // The PostgreSQL of the tests may trust everybody, so an unknown role stands for a refused one.
    return fails(
      /refused to sign in .*correct "username" or the secret "password"/,
      change({ username: 'nobody_here' }),
    );
  });
  it('there is no such database', () =>
    fails(/correct "database" of the connection "shop"/, change({ database: 'none' })));
  it('nothing listens at the port', () =>
    fails(
      /the server 127\.0\.0\.1:1 of the connection "shop" cannot be reached \(ECONNREFUSED\)/,
      change({ port: '1' }),
    ));
  it('the host has no address', () => fails(/could not be resolved/, change({ host: 'nowhere.invalid' })));
  it('the server has no TLS', () =>
    fails(
      /does not support TLS: set "sslMode" of the connection "shop" to disable/,
      change({ sslMode: 'require' }),
    ));
  it('the sslMode is unknown', () =>
    fails(/sslMode "prefer" .* use one of disable, require, verify-full/, change({ sslMode: 'prefer' })));
  it('the port is none', () =>
    fails(/port "x" of the connection "shop" is not from 1 to 65535/, change({ port: 'x' })));
  it('the host is an address of the web', () =>
    fails(
      /is not a host name: write it without scheme and port/,
      change({ host: 'https://db.example.com' }),
    ));
  it('a property is missing', async () => {
    const { database: _, ...properties } = target.connection.properties;
    await fails(/the connection "shop" has no "database"/, {
      ...target,
      connection: { name: 'shop', properties },
    });
  });
  it('the metadata service of a cloud is never asked, even if its range is allowed', () =>
    fails(
      /metadata service of a cloud/,
      change({ host: '169.254.169.254' }),
      createPostgresDriver({ allow }),
    ));
  it('also not by a name', () => {
    const resolve = async () => ['169.254.169.254'];
    return fails(
      /metadata service of a cloud/,
      change({ host: 'db.example.com' }),
      createPostgresDriver({ allow, resolve }),
    );
  });
  it('a private address needs the operator', () =>
    fails(
      /add this one to HEADGATE_AGENT_EGRESS_ALLOW/,
      target,
      createPostgresDriver({ allow: parseEgressAllow([]) }),
    ));
  it('the database is that of a control plane', async () => {
    for (const table of ['agent_request', 'environment_default_connection', 'work_turn'])
      await postgres.admin.query(`create table public.${table} (id integer)`);
    await fails(/is that of a Headgate server, which no run may use/);
    for (const table of ['agent_request', 'environment_default_connection', 'work_turn'])
      await postgres.admin.query(`drop table public.${table}`);
  });
  it('the server is that of the control plane, whatever database it is', async () => {
    const { rows } = await postgres.admin.query(
      'select system_identifier::text as id from pg_control_system()',
    );
    const guarded = (systemIdentifier: string) =>
      createPostgresDriver({ allow, refused: { systemIdentifier } });
    await fails(/is that of a Headgate server, whose databases no run may use/, target, guarded(rows[0].id));
    await (await guarded('1').connect(target)).close();
  });
});

it('the test of a connection says that its schema is missing, or may not be used', async () => {
  await assert.rejects(
    driver.test(change({ schema: 'shopp' })),
    /the schema "shopp" does not exist in the database ".*correct "schema" of the connection "shop"/,
  );
  await postgres.admin.query('create schema closed');
  await assert.rejects(
    driver.test(change({ schema: 'closed' })),
    /the schema "closed" may not be used by the role/,
  );
  await driver.test(target);
});

const cutting = async (running: Promise<unknown>) => {
  const failed = running.then(
    () => assert.fail('the statement ended'),
    (error) => error as Error,
  );
  await waitFor(
    "select 1 from pg_stat_activity where query like '%pg_sleep%' and state = 'active' and pid <> pg_backend_pid()",
  );
  postgres.cut();
  return failed;
};

async function waitFor(query: string): Promise<void> {
  for (;;) if ((await postgres.admin.query(query)).rowCount !== 0) return;
}

describe('a lost connection', () => {
  it('in a statement leaves its outcome unknown, and no attempt repeats it', async () => {
    const connection = await driver.connect(target);
    const error = await cutting(connection.execute('select pg_sleep(60)'));
    assert.match(error.message, /not known whether the statement took effect/);
    assert.ok(isPermanentFault(error));
    // Nothing of the session is missing, so that the run can go on.
    assert.equal((await connection.execute('select 1')).rowCount, 1);
    await connection.close();
  });

  it('in a query may be followed by another attempt', async () => {
    const connection = await driver.connect(target);
    const error = await cutting(connection.query('select pg_sleep(60)', 1));
    assert.match(error.message, /was lost during the query/);
    assert.ok(!isPermanentFault(error));
    await connection.close();
  });

  it('in a transaction, or with temporary tables, ends the run', async () => {
    for (const [before, words] of [
      ['begin', /lost in a transaction, which is rolled back/],
      ['create temporary table mine (id integer)', /the temporary tables and settings of this run/],
    ] as const) {
      const connection = await driver.connect(target);
      await connection.execute(before);
      await cutting(connection.query('select pg_sleep(60)', 1));
      await assert.rejects(connection.execute('select 1'), words);
      await connection.close();
    }
  });
});

it('a session has the tag of its work, its schema and UTC', async () => {
  const connection = await driver.connect(target);
  const sql = "select current_setting('application_name'), current_schema(), current_setting('TimeZone')";
  assert.deepEqual((await connection.query(sql, 1)).rows, [[target.tag, 'wh', 'UTC']]);
  await connection.close();
  const { serverVersion } = await driver.test(target);
  assert.match(serverVersion, /^\d+/);
});

/** A way to the server that holds new connections back until it is told. */
async function openHeldWay() {
  const { port: portOfTarget } = target.connection.properties;
  const held: (() => void)[] = [];
  let isOpen = true;
  const server = createServer((socket) => {
    const pass = () => {
      const other = connect(Number((portOfTarget as { value: string }).value), '127.0.0.1');
      for (const each of [socket, other]) each.on('error', () => undefined);
      socket.on('close', () => other.destroy());
      other.on('close', () => socket.destroy());
      socket.pipe(other).pipe(socket);
    };
    if (isOpen) pass();
    else held.push(pass);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    target: change({ port: String((server.address() as AddressInfo).port) }),
    hold() {
      isOpen = false;
    },
    release() {
      isOpen = true;
      for (const pass of held.splice(0)) pass();
    },
    close: () => server.close(),
  };
}

it('a late request to cancel a statement does not cancel the next one', async (t) => {
  const way = await openHeldWay();
  const connection = await driver.connect(way.target);
  t.after(async () => {
    await connection.close();
    way.close();
  });
  const state = (query: string) =>
    `select 1 from pg_stat_activity where query like '%${query}%' and pid <> pg_backend_pid() and state`;
  way.hold();
  const limit = new AbortController();
  const first = connection.execute('select pg_sleep(0.5)', undefined, limit.signal);
  await waitFor(`${state('pg_sleep(0.5)')} = 'active'`);
  limit.abort();
  const next = first.then(() => connection.query('select 7 from pg_sleep(1)', 1));
  await waitFor(`${state('pg_sleep(0.5)')} = 'idle' union all ${state('pg_sleep(1)')} = 'active'`);
  way.release();
  assert.deepEqual((await next).rows, [[7]]);
});
