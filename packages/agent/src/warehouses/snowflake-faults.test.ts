/** What goes wrong with Snowflake, and what a run says of it. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { after, afterEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createKey, createTestSnowflake } from '../../testing/snowflake.ts';
import type { FakeRequest } from '../../testing/snowflake-server.ts';
import { realTime } from '../time.ts';

const { fake, driver, target, change, secrets, createDriver, drop } = await createTestSnowflake();
after(drop);
afterEach(() => {
  fake.intercept = undefined;
  fake.skewMilliseconds = 0;
  fake.rowsOfPart = 1_000;
  fake.holdMilliseconds = 45_000;
});

const statements = '/queries/v1/query-request';
const connect = async () => {
  const connection = await driver.connect(target);
  await connection.execute('select 1');
  fake.requests.length = 0;
  return connection;
};
const countOf = (path: string) => fake.requests.filter((request) => request.path === path).length;
/** Answers the statement with this text. */
const answering = (part: string, answer: (response: ServerResponse, request: FakeRequest) => void) => {
  fake.intercept = (request, response) => {
    if (request.path !== statements || !String(request.body.sqlText).includes(part)) return undefined;
    answer(response, request);
    return true;
  };
};
const give = (data: object, code: string | null = null) =>
  JSON.stringify({ data, code, message: null, success: true });
const rowtype = [{ name: 'X', type: 'text' }];

describe('signing in', () => {
  const cases: [name: string, properties: Record<string, string>, message: RegExp][] = [
    ['another user', { username: 'nobody' }, /JWT token is invalid.*390144.*RSA_PUBLIC_KEY/],
    ['another account', { account: 'other' }, /JWT token is invalid.*check "account" \(OTHER\)/],
    [
      'a role that the user does not have',
      { role: 'BOSS' },
      /390189.*correct "role" of the connection "shop"/,
    ],
    [
      'a database that is not there',
      { database: 'NONE' },
      /the database "NONE" does not exist, or may not be used by the role "LOADING"/,
    ],
    ['a schema in small letters', { schema: '"wh"' }, /the schema "wh" does not exist/],
    ['an account that is an address', { account: 'https://x.example' }, /write it without scheme and host/],
    ['a host with a path', { host: 'example.com/x' }, /"example.com\/x".*write it without scheme/],
    ['a time zone that is none', { timeZone: 'Mars' }, /"Mars".*such as Europe\/Berlin/],
    ['no user', { username: '' }, /has no "username": set it to the user to sign in as/],
    [
      'a server that is not there',
      { host: '127.0.0.1:1' },
      /cannot be reached.*check account, host and network/,
    ],
    ['the metadata service of a cloud', { host: '169.254.169.254' }, /is the metadata service of a cloud/],
    ['a private address', { host: '10.0.0.1' }, /10\.0\.0\.1 is in a private range/],
  ];
  for (const [name, properties, message] of cases)
    it(`names the fault: ${name}`, () => assert.rejects(driver.test(change(properties)), message));

  const keys: [name: string, pem: string, message: RegExp][] = [
    ['not the registered key', createKey('correct horse').pem, /JWT token is invalid/],
    ['another passphrase', createKey('wrong').pem, /cannot be read .* correct it or the secret "passphrase"/],
    ['no key', 'hello', /is not a private key: store the whole file/],
    [
      'a key of another kind',
      String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })),
      /is not an RSA key of 2048 bits or more/,
    ],
  ];
  for (const [name, pem, message] of keys)
    it(`names the fault of the key: ${name}`, async () => {
      const before = secrets.get('warehouse-key') ?? '';
      secrets.set('warehouse-key', pem);
      await assert.rejects(driver.test(target), message);
      secrets.set('warehouse-key', before);
      assert.equal((await driver.test(target)).serverVersion, '9.31.2');
    });

  it('goes by the clock of the server, and asks for the time zone and the tag', async () => {
    fake.skewMilliseconds = 7_200_000;
    const connection = await driver.connect(change({ timeZone: 'Europe/Berlin' }));
    await connection.close();
    const [, second] = fake.requests.filter(({ path }) => path === '/session/v1/login-request').slice(-2);
    const { data } = (second ?? assert.fail()).body as {
      data: { SESSION_PARAMETERS: Record<string, unknown> };
    };
    assert.equal(data.SESSION_PARAMETERS.TIMEZONE, 'Europe/Berlin');
    assert.equal(data.SESSION_PARAMETERS.QUERY_TAG, target.tag);
  });

  it('names the Headgate server, and never calls it', async () => {
    const own = createDriver({ serverUrl: `http://127.0.0.1:${fake.port}` });
    fake.requests.length = 0;
    await assert.rejects(own.connect(target), /is that of the Headgate server/);
    assert.equal(fake.requests.length, 0);
  });

  const answers: [name: string, answer: (response: ServerResponse) => void, message: RegExp][] = [
    ['a page', (response) => response.end('<html>'), /does not answer as Snowflake does/],
    ['another JSON', (response) => response.end('{"a":1}'), /an answer without "success"/],
    ['no token', (response) => response.end(give({})), /no token of a session/],
    ['404', (response) => response.writeHead(404).end(), /it answered 404/],
    [
      'a redirect to the metadata service',
      (response) => response.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
      /redirects \(it answered 307 to 169\.254\.169\.254\), which the agent does not follow/,
    ],
    ['an answer without end', (response) => pour(response), /an answer of more than 4 MiB/],
  ];
  for (const [name, answer, message] of answers)
    it(`refuses a server that answers with ${name}`, async () => {
      fake.requests.length = 0;
      fake.intercept = (_, response) => {
        answer(response);
        return true;
      };
      await assert.rejects(driver.connect(target), message);
      assert.equal(fake.requests.length, 1);
    });

  it('ends in its time if the server says nothing', async () => {
    fake.intercept = () => true;
    const hasty = createDriver({ limits: { signInMilliseconds: 100 } });
    await assert.rejects(hasty.connect(target), /did not sign in within 0.1 s/);
  });
});

/** A text without end. */
function pour(response: ServerResponse): void {
  async function* write() {
    yield '{"x":"';
    for (;;) yield 'x'.repeat(100_000);
  }
  pipeline(Readable.from(write()), response, () => undefined);
}

describe('a statement', () => {
  it('whose connection breaks may have had an effect, and is not sent again', async () => {
    const connection = await connect();
    answering('insert', (response) => response.destroy());
    await assert.rejects(
      connection.execute('insert into x values (1)'),
      (error: Error) =>
        error.name === 'PermanentFault' && /not known whether the statement took effect/.test(error.message),
    );
    assert.equal(countOf(statements), 1);
    fake.intercept = undefined;
    // The next one has another session.
    assert.equal((await connection.execute('select 1')).rowCount, 1);
    await connection.close();
  });

  it('that only reads is sent again, as the same request', async () => {
    const connection = await connect();
    let count = 0;
    fake.intercept = ({ path }, response) => {
      if (path !== statements || count > 0) return undefined;
      count += 1;
      response.writeHead(503).end();
      return true;
    };
    assert.deepEqual((await connection.query('select 1 as x', 1)).rows, [[1]]);
    const ids = fake.requests
      .filter(({ path }) => path === statements)
      .map(({ query }) => query.get('requestId'));
    assert.equal(ids.length, 2);
    assert.equal(ids[0], ids[1]);
    await connection.close();
  });

  it('is sent again if the server had too much to do, and not if that may have been too late', async () => {
    const connection = await connect();
    await connection.execute('create table counted (id integer)');
    for (const [status, ends] of [
      [429, /^$/],
      [502, /it answered 502/],
    ] as const) {
      let count = 0;
      fake.intercept = ({ path, body }, response) => {
        if (path !== statements || !/^insert/.test(String(body.sqlText)) || count > 0) return undefined;
        count += 1;
        response.writeHead(status).end();
        return true;
      };
      const message = await connection.execute('insert into counted values (1)').then(
        () => '',
        (error: Error) => error.message,
      );
      assert.match(message, ends);
    }
    fake.intercept = undefined;
    assert.equal((await connection.query('select * from counted', 9)).rows.length, 1);
    await connection.close();
  });

  it('goes on after its token is too old, and in another session after its own is over', async () => {
    const connection = await connect();
    const session = [...fake.sessions.values()].at(-1);
    assert.ok(session);
    session.isTokenOld = true;
    assert.equal((await connection.execute('select 1')).rowCount, 1);
    assert.equal(countOf('/session/token-request'), 1);
    fake.sessions.clear();
    assert.equal((await connection.execute('select 1')).rowCount, 1);
    await connection.execute('create temporary table mine (id integer)');
    fake.sessions.clear();
    await assert.rejects(
      connection.execute('select 1'),
      /was lost, and with it the temporary tables and settings/,
    );
    await connection.close();
  });

  it('is sent after an idle session has said that it is there', async () => {
    let ahead = 0;
    const time = { ...realTime, date: () => new Date(Date.now() + ahead) };
    const connection = await createDriver({ time }).connect(target);
    await connection.execute('create table seldom (id integer)');
    assert.equal(countOf('/session/heartbeat'), 0);
    for (const isGone of [false, true]) {
      ahead += 31_000;
      fake.requests.length = 0;
      if (isGone) fake.sessions.clear();
      assert.equal((await connection.execute('insert into seldom values (1)')).rowCount, 1);
      assert.deepEqual([countOf('/session/heartbeat'), countOf(statements)], [1, 1]);
    }
    await connection.close();
  });

  it('is not repeated outside of the transaction that is over', async () => {
    const connection = await connect();
    await connection.execute('begin');
    fake.sessions.clear();
    await assert.rejects(
      connection.execute('insert into x values (1)'),
      /was lost in a transaction, which is rolled back/,
    );
    await connection.close();
  });

  it('that takes long is asked for until it ends', async () => {
    fake.holdMilliseconds = 20;
    const connection = await connect();
    const { rows } = await connection.query('select system$wait(1)', 1);
    assert.deepEqual(rows, [['waited 1 seconds']]);
    assert.ok(fake.requests.some(({ method, path }) => method === 'GET' && path.endsWith('/result')));
    await connection.close();
  });

  it('that is cancelled and does not end gives up its session', async () => {
    const hasty = createDriver({ limits: { cancelMilliseconds: 100 } });
    const connection = await hasty.connect(target);
    fake.intercept = ({ path }) => path === statements || path.endsWith('/abort-request');
    await assert.rejects(
      connection.execute('insert into x values (1)', 0, AbortSignal.timeout(50)),
      /was lost during the statement, so it is not known whether the statement took effect/,
    );
    fake.intercept = undefined;
    await connection.close();
  });

  it('gets the rows of all parts', async () => {
    fake.rowsOfPart = 2;
    const connection = await connect();
    const { rows } = await connection.query(
      "select seq4() as n, repeat('é', 100) as t from table(generator(rowcount => 7))",
      10,
    );
    assert.deepEqual(
      rows.map(([n]) => n),
      [0, 1, 2, 3, 4, 5, 6],
    );
    assert.ok(rows.every(([, text]) => text === 'é'.repeat(100)));
    // Counted by the server, so that no part is loaded.
    fake.requests.length = 0;
    assert.equal(
      (await connection.execute('select seq4() from table(generator(rowcount => 7))')).rowCount,
      7,
    );
    assert.ok(!fake.requests.some(({ path }) => path.startsWith('/parts/')));
    await connection.close();
  });

  it('keeps its own values out of the text, as binds', async () => {
    const connection = await connect();
    await connection.execute('create table kept (word varchar)');
    const write = (word: string) => `insert into kept select w from (select 'it\\'s' as t, ${word} as w)`;
    const secret = { sql: write('$1'), values: ["it's \\ secret"] };
    await connection.execute(write("'it''s \\\\ secret'"), 0, undefined, secret);
    assert.deepEqual((await connection.query('select * from kept', 2)).rows, [["it's \\ secret"]]);
    const sent = [...fake.sessions.values()].flatMap(({ history }) => history);
    assert.ok(sent.includes(write(':1')) && !sent.join().includes('secret'));
    await connection.close();
  });

  it('may not move files of the agent', async () => {
    const connection = await connect();
    for (const sql of ['put file:///etc/passwd @~', 'get @~ file:///root'])
      await assert.rejects(connection.execute(sql), /which the agent does not allow/);
    answering('sneaky', (response) =>
      response.end(give({ command: 'UPLOAD', src_locations: ['/etc/passwd'], stageInfo: {} })),
    );
    await assert.rejects(connection.execute('select sneaky'), /which the agent does not allow/);
    await connection.close();
  });

  const answers: [name: string, body: string | Buffer, message: RegExp][] = [
    ['what is not JSON', '{"data": {', /sent a part of an answer/],
    ['rows that are not lists', give({ rowtype, rowset: [{ a: [1] }] }), /sent a row/],
    ['rows of numbers', give({ rowtype, rowset: [[1]] }), /sent a row of what is not text/],
    [
      'rows with other columns',
      give({ rowtype, rowset: [['a', 'b']] }),
      /a row with other columns than the result/,
    ],
    ['columns that are none', give({ rowtype: [{}], rowset: [] }), /a column without name or type/],
    ['Arrow', give({ rowtype, queryResultFormat: 'arrow', rowsetBase64: '' }), /a result that is not JSON/],
    [
      'a result at another path',
      give({ getResultUrl: '//169.254.169.254/x' }, '333333'),
      /no address of a result/,
    ],
    [
      'a part in the metadata service',
      give({ rowtype, rowset: [], chunks: [{ url: 'https://169.254.169.254/x' }] }),
      /is the metadata service of a cloud/,
    ],
    [
      'a part at no address',
      give({ rowtype, rowset: [], chunks: [{ url: 'x' }] }),
      /a part without an address/,
    ],
    [
      'a header that is none',
      give({ rowtype, rowset: [], chunks: [{ url: 'https://x.example' }], chunkHeaders: { host: 'a' } }),
      /a header that is none/,
    ],
    ['a row of 65 MiB', give({ rowtype, rowset: [['x'.repeat(68_000_000)]] }), /a row of more than 64 MiB/],
  ];
  for (const [name, body, message] of answers)
    it(`refuses an answer with ${name}, and the next one works`, async () => {
      const connection = await connect();
      answering('wrong', (response) => response.end(body));
      await assert.rejects(connection.query('select wrong', 9), message);
      fake.intercept = undefined;
      assert.deepEqual((await connection.query('select 1 as x', 9)).rows, [[1]]);
      await connection.close();
    });

  it('refuses a small part that becomes a large one', async () => {
    const connection = await connect();
    const bomb = gzipSync(Buffer.alloc(300 * 1_048_576, ' '));
    fake.intercept = ({ path, body }, response) => {
      if (path === '/bomb') response.end(bomb);
      else if (String(body.sqlText).includes('wrong'))
        response.end(give({ rowtype, rowset: [], chunks: [{ url: `http://127.0.0.1:${fake.port}/bomb` }] }));
      else return undefined;
      return true;
    };
    await assert.rejects(connection.query('select wrong', 9), /sent more than 256 MiB/);
    await connection.close();
  });

  it('gives numbers that are no counts as none', async () => {
    const connection = await connect();
    const column = [{ name: 'number of rows inserted', type: 'fixed', scale: 0 }];
    answering('insert', (response) =>
      response.end(give({ rowtype: column, rowset: [['-5e9']], total: 'x', statementTypeId: 0x3100 })),
    );
    assert.equal((await connection.execute('insert into x values (1)')).rowCount, 0);
    answering('create', (response) =>
      response.end(
        give({
          rowtype: [{ name: 'status', type: 'text' }],
          rowset: [['ok']],
          stats: { numRowsInserted: 7 },
        }),
      ),
    );
    assert.equal((await connection.execute('create table x as select 1')).rowCount, 7);
    await connection.close();
  });
});

describe('a query of a person', () => {
  const refused: [name: string, properties: Record<string, string>, message: RegExp][] = [
    ['the user of runs', { readUsername: 'LOADER' }, /is that of the runs: CREATE USER/],
    [
      'a role that writes',
      { readRole: 'WRITING' },
      /may do more than read: WRITING has INSERT on TABLE SHOP.WH.T1/,
    ],
    ['a role of Snowflake’s own', { readRole: 'MANAGING' }, /may do more than read: it is SYSADMIN/],
    ['no role', { readRole: '' }, /has no "readRole"/],
  ];
  for (const [name, properties, message] of refused)
    it(`is refused with ${name}`, async () => {
      // The two users have two keys.
      const before = secrets.get('reader-key') ?? '';
      await assert.rejects(
        driver.connectReading(change(properties)),
        (error: Error) =>
          message.test(error.message) ||
          (name === 'the user of runs' && /JWT token is invalid/.test(error.message)),
      );
      secrets.set('reader-key', before);
    });

  it('is refused without a credential of its own', async () => {
    const properties = Object.fromEntries(
      Object.entries(target.connection.properties).filter(([property]) => !property.startsWith('read')),
    );
    await assert.rejects(
      driver.connectReading({ ...target, connection: { name: 'shop', properties } }),
      /has no credential for reading/,
    );
  });
});
