/** The memory that request bodies take at the same time is bounded, and strangers get none of it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startTestServer } from '../../../testing/server.ts';
import { waitUntil } from '../../../testing/waiting.ts';

// Before the server closes, which waits for its connections.
const sockets: Socket[] = [];
after(() => {
  for (const socket of sockets) socket.destroy();
});
const server = await startTestServer({ settings: { HEADGATE_BODY_LIMIT_MB: '1' } });
const { port } = new URL(await server.listen());
const account = await server.account();

const mebibyte = 1_048_576;

interface Begun {
  socket: Socket;
  /** The status of the response. */
  status: Promise<number>;
  /** The same, or undefined if there is none for a while. */
  earlyStatus: Promise<number | undefined>;
}

/** Sends the headers of a request, and nothing of its body. */
async function begin(path: string, headers: Record<string, string>): Promise<Begun> {
  const socket = connect(Number(port), '127.0.0.1');
  sockets.push(socket);
  await once(socket, 'connect');
  const lines = Object.entries({ host: 'localhost', 'content-type': 'application/json', ...headers });
  socket.write(
    `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
  );
  const status = once(socket, 'data').then(([bytes]) => Number(String(bytes).slice(9, 12)));
  const earlyStatus = Promise.race([status, delay(500, undefined)]);
  return { socket, status, earlyStatus };
}

const large = { 'content-length': String(mebibyte) };
const strangersPaths = ['/hooks/git/019b0000-0000-7000-8000-000000000000', '/mail/x'];
for (const path of [...strangersPaths, '/git/x/git-upload-pack', '/git/x/git-receive-pack'])
  test(`POST ${path} is refused before its JSON is received`, async () => {
    const { status } = await begin(path, large);
    assert.ok([404, 415].includes(await status), String(await status));
  });

test('a caller, and an account, have a share of the bodies that are received at the same time', async () => {
  const [first, second, third] = await Promise.all([0, 1, 2].map(() => account.actor('MEMBER')));
  const open = async (caller: typeof first, headers: Record<string, string> = large) =>
    begin('/dpc/v1/projects', { ...headers, authorization: `Bearer ${await caller?.token()}` });
  const held: Begun[] = [];
  for (const caller of [first, second]) {
    for (const headers of [large, large, { 'transfer-encoding': 'chunked' }, large]) {
      const begun = await open(caller, headers);
      held.push(begun);
      assert.equal(await begun.earlyStatus, undefined);
    }
    assert.equal(await (await open(caller)).status, 503);
  }
  // The account has no more, but small bodies pass.
  const lines = server.logLines.length;
  assert.equal(await (await open(third)).status, 503);
  const logged = server.logLines.slice(lines).map((line) => JSON.parse(line));
  const refused = logged.filter(({ msg }) => msg.startsWith('a request'));
  assert.deepEqual(
    refused.map(({ level, code, err }) => [level, code, err]),
    [[40, 'overloaded', undefined]],
    'it is no fault of the server',
  );
  assert.equal(await (await open(third, { 'content-length': '1000' })).earlyStatus, undefined);
  // A lost connection gives its share back.
  const [lost] = held;
  lost?.socket.destroy();
  await waitUntil('its share', 120, async () => (await (await open(first)).earlyStatus) === undefined);
  const other = await (await server.account()).actor('MEMBER');
  assert.equal(await (await open(other)).earlyStatus, undefined);
});
