/**
 * A server that is not PostgreSQL, or a hostile one, and values that are too large, cost a session and nothing else.
 */
import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { createTestPostgres } from '../../testing/postgres.ts';
import { isPermanentFault } from '../permanent-fault.ts';

const postgres = await createTestPostgres();
const { driver, target, change } = postgres;
after(() => postgres.drop());

function message(type: string, body: Buffer | string = '', length?: number): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(length ?? 4 + Buffer.byteLength(body), 1);
  return Buffer.concat([head, Buffer.from(body)]);
}

const int16 = (value: number) => Buffer.from([value >> 8, value & 0xff]);
const signedIn = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', 'I')]);

/** Answers the first message of each connection. */
async function listen(answer: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    target: change({ port: String((server.address() as AddressInfo).port) }),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function fails(answer: (socket: Socket) => void, words: RegExp) {
  const hostile = await listen(answer);
  try {
    await assert.rejects(driver.test(hostile.target), words);
  } finally {
    await hostile.close();
  }
}

const endlessly = (socket: Socket, bytes: Buffer) => {
  const send = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', send);
  send();
};

describe('a connection to a server that is none', () => {
  const withoutForm = /check that host and port are those of PostgreSQL/;
  for (const [what, bytes] of Object.entries({
    'an error without an end, which the client would read for ever': message('E'),
    'a way to sign in that the client does not know': message('R', Buffer.from([0, 0, 0, 7])),
    'fewer than no columns': Buffer.concat([signedIn, message('T', int16(-1))]),
    'a row that is longer than its message': Buffer.concat([
      signedIn,
      message('D', Buffer.from([0, 1, 0x7f, 0, 0, 0])),
    ]),
    'more columns than PostgreSQL has': Buffer.concat([
      signedIn,
      message('T', Buffer.concat([int16(2_000), Buffer.alloc(2_000 * 19)])),
    ]),
    'a message of 2 GB': message('S', '', 2_000_000_000),
    'a row of 2 GB': Buffer.concat([signedIn, message('D', '', 2_000_000_000)]),
    'a length of nothing': message('S', '', 0),
    'a web page': Buffer.from('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'),
  }))
    it(`sends ${what}`, () => fails((socket) => void socket.write(bytes), withoutForm));

  for (const [what, bytes] of Object.entries({
    'settings without end': Buffer.concat(Array(2_000).fill(message('S', 'a\0b\0'))),
    'requests to sign in without end': Buffer.concat(
      Array(2_000).fill(message('R', Buffer.from([0, 0, 0, 11, 0x61]))),
    ),
    'results without end': Buffer.concat([signedIn, ...Array(1_000).fill(message('C', 'SELECT 1\0'))]),
  }))
    it(`sends ${what}`, () => fails((socket) => endlessly(socket, bytes), withoutForm));

  it('answers the request for TLS with more than one byte', async () => {
    const hostile = await listen((socket) => void socket.write('S and more'));
    after(() => hostile.close());
    const port = (hostile.target.connection.properties.port as { value: string }).value;
    await assert.rejects(
      driver.test(change({ port, sslMode: 'require' })),
      /error establishing an SSL connection/,
    );
  });
});

describe('a giant value', () => {
  it('ends the query and its session, and the run goes on', async () => {
    const connection = await driver.connect(target);
    const error = await connection.query("select repeat('x', 70000000)", 1).catch((failure) => failure);
    assert.match(
      error.message,
      /sent a row of more than 64 MiB, which is more than the agent reads: select less/,
    );
    assert.ok(!isPermanentFault(error));
    assert.equal((await connection.execute('select 1')).rowCount, 1);
    await connection.close();
  });

  it('in a message', async () => {
    const connection = await driver.connect(target);
    await assert.rejects(
      connection.query("select repeat('x', 2000000)::integer", 1),
      /sent a message of more than 1 MiB/,
    );
    await connection.close();
  });

  it('of a statement leaves its outcome unknown, and no attempt repeats it', async () => {
    const connection = await driver.connect(target);
    const error = await connection.execute("select repeat('x', 70000000)").catch((failure) => failure);
    assert.match(error.message, /It is not known whether the statement took effect/);
    assert.ok(isPermanentFault(error));
    await connection.close();
  });
});

it('a statement returns so many bytes and no more; a query is cut before', async () => {
  const connection = await driver.connect(target);
  const sql = "select repeat('x', 1000000) from generate_series(1, 300)";
  await assert.rejects(connection.execute(sql), /sent more than 256 MiB, which is more than the agent reads/);
  await assert.rejects(connection.query(sql, 1_000), /returns more than 67108864 bytes/);
  assert.equal((await connection.query("select repeat('x', 1000000)", 1)).rows.length, 1);
  await connection.close();
});
