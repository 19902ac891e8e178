/** SFTP against OpenSSH's server, and against one that misbehaves. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createEgress, parseEgressAllow } from '@headgate/contract/egress';
import { Secret } from '@headgate/contract/without-schemas';
import { type FakeSftp, startFakeSftp } from '../../../testing/fake-sftp.ts';
import { type Sshd, sshdIsMissing, startSshd } from '../../../testing/sshd.ts';
import { openStoreScene, type StoreScene } from '../../../testing/store-scene.ts';
import { createSftpStore } from './sftp-store.ts';

let scene: StoreScene;
const transfer = (parameters: Readonly<Record<string, unknown>>) =>
  scene.component('data-transfer-object', parameters);
const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

describe('OpenSSH’s server', { skip: sshdIsMissing }, () => {
  let sshd: Sshd;
  let at: string;
  before(async () => {
    sshd = await startSshd();
    at = `sftp://${sshd.username}@127.0.0.1:${sshd.port}${sshd.folder}`;
  });
  after(() => sshd.close());
  beforeEach(async () => {
    const { privateKey, fingerprint } = sshd;
    scene = await openStoreScene({
      secrets: {
        'the-key': privateKey,
        'the-server': { privateKey, hostKey: fingerprint },
        wrong: 'a password',
      },
    });
  });
  afterEach(() => {
    scene.dispose();
    for (const name of readdirSync(sshd.folder)) rmSync(join(sshd.folder, name), { recursive: true });
  });
  const send = (parameters: object) =>
    transfer({
      sourceUrl: 'in.csv',
      targetUrl: `${at}/out/deep`,
      targetObjectName: 'a.csv',
      credentials: 'the-server',
      ...parameters,
    });

  it('gets a file as a whole, replaces it, and gives it back', async () => {
    const bytes = randomBytes(5_000_000);
    writeFileSync(join(scene.filesFolder, 'in.csv'), bytes);
    for (const round of [1, 2]) {
      const sent = await send({});
      assert.deepEqual([sent.status, sent.byteCount], ['SUCCESS', 5_000_000], `${round}: ${sent.message}`);
    }
    assert.deepEqual(readdirSync(join(sshd.folder, 'out/deep')), ['a.csv'], 'nothing but the file is there');
    assert.equal(digest(readFileSync(join(sshd.folder, 'out/deep/a.csv'))), digest(bytes));
    const back = await transfer({
      sourceType: 'SFTP',
      sourceUrl: `sftp://127.0.0.1:${sshd.port}${sshd.folder}/out/deep/a.csv`,
      sourceUsername: sshd.username,
      sourcePassword: 'the-key',
      hostKey: sshd.publicKey,
      targetObjectName: 'back.csv',
    });
    assert.equal(back.status, 'SUCCESS', back.message);
    assert.equal(digest(readFileSync(join(scene.filesFolder, 'back.csv'))), digest(bytes));
    assert.ok(scene.masked.includes(sshd.privateKey), 'the key is masked');
  });

  it('lets nobody in whose key is not confirmed', async () => {
    writeFileSync(join(scene.filesFolder, 'in.csv'), 'x');
    const unknown = await send({ credentials: 'the-key' });
    assert.equal(unknown.status, 'FAILED');
    assert.ok(unknown.message.includes(`set "hostKey" to ${sshd.fingerprint}`), unknown.message);
    const other = await send({ credentials: 'the-key', hostKey: `SHA256:${'A'.repeat(43)}` });
    assert.match(other.message, /not the one of "hostKey": somebody may listen in/);
    const none = await send({ hostKey: 'no key' });
    assert.match(none.message, /"hostKey" has "no key", which is no key/);
    assert.match(
      (await send({ credentials: 'wrong', hostKey: sshd.fingerprint })).message,
      /does not let the user/,
    );
    assert.deepEqual(readdirSync(sshd.folder), []);
  });

  it('is listed, loaded and emptied', async () => {
    mkdirSync(join(sshd.folder, 'in/below'), { recursive: true });
    for (const name of ['in', 'in/below']) chmodSync(join(sshd.folder, name), 0o777);
    writeFileSync(join(sshd.folder, 'in/a.csv'), '1,x\n');
    writeFileSync(join(sshd.folder, 'in/below/b.csv'), '2,y\n');
    writeFileSync(join(sshd.folder, 'in/c.txt'), 'no');
    symlinkSync('..', join(sshd.folder, 'in/loop'));
    symlinkSync('a.csv', join(sshd.folder, 'in/linked.csv'));
    await scene.rows('create table t (id integer, name varchar)');
    const loaded = await scene.component('s3-load', {
      ...{ s3ObjectPrefix: `${at}/in/`, pattern: '.*[.]csv', credentials: 'the-server', targetTable: 't' },
      ...{ fileType: 'CSV', purgeFiles: 'Yes' },
    });
    assert.deepEqual([loaded.status, loaded.message], ['SUCCESS', '3 rows from 3 objects']);
    assert.deepEqual(await scene.rows('select * from t order by id'), [
      [1, 'x'],
      [1, 'x'],
      [2, 'y'],
    ]);
    assert.deepEqual(readdirSync(join(sshd.folder, 'in')).sort(), ['below', 'c.txt', 'linked.csv', 'loop']);
    const missing = await transfer({
      sourceUrl: `${at}/in/a.csv`,
      targetObjectName: 'x',
      credentials: 'the-server',
    });
    assert.match(missing.message, /in\/a\.csv": sftp:\/\/127\.0\.0\.1:\d+: there is no such file/);
    const denied = await send({
      sourceUrl: `${at}/in/c.txt`,
      targetUrl: `sftp://${sshd.username}@127.0.0.1:${sshd.port}/root/x`,
    });
    assert.match(denied.message, /the user may not do this there/);
  });

  it('a file-iterator looks at the folder alone, or at all below it', async () => {
    mkdirSync(join(sshd.folder, 'in/below'), { recursive: true });
    for (const name of ['a.csv', 'below/b.csv']) writeFileSync(join(sshd.folder, 'in', name), 'x');
    const names = async (recursive: string) => {
      scene.lines.length = 0;
      await scene.publish({
        'p.orch.yaml': `type: orchestration
pipeline:
  components:
    Start: { type: start, parameters: {}, transitions: { unconditional: [Each] } }
    Each:
      type: file-iterator
      iterationTarget: Print
      parameters:
        inputDataType: SFTP
        inputDataUrl1: ${at}/in
        credentials: the-server
        recursive: "${recursive}"
        variables: [[name, Filename]]
    Print: { type: print-variables, parameters: { variablesToPrint: [name] } }
  variables:
    name: { metadata: { type: TEXT }, defaultValue: "" }
`,
      });
      const { status, message } = await scene.run('p');
      assert.equal(status, 'SUCCESS', message);
      return scene.lines.map((line) => line.split('= ').at(-1)?.trim());
    };
    assert.equal((await names('No')).length, 1);
    assert.equal((await names('Yes')).length, 2);
  });

  it('a connection that breaks is opened again, and a download goes on where it was', async () => {
    const bytes = randomBytes(60_000_000);
    writeFileSync(join(sshd.folder, 'big'), bytes);
    const transferring = transfer({
      sourceUrl: `${at}/big`,
      targetObjectName: 'big',
      credentials: 'the-server',
    });
    // While it runs: the file is partial, and a part of it has come.
    const hasPart = () =>
      readdirSync(scene.filesFolder).some(
        (name) => name.endsWith('.partial') && statSync(join(scene.filesFolder, name)).size > 0,
      );
    let isOver = false;
    void transferring.finally(() => (isOver = true));
    while (!hasPart() && !isOver) await delay(1);
    sshd.drop();
    assert.ok(hasPart(), 'it was dropped before its end');
    const back = await transferring;
    assert.equal(back.status, 'SUCCESS', back.message);
    assert.equal(digest(readFileSync(join(scene.filesFolder, 'big'))), digest(bytes));
  });

  it('is judged as every address is', async () => {
    scene.dispose();
    scene = await openStoreScene({ allow: [], secrets: { 'the-server': sshd.privateKey } });
    writeFileSync(join(scene.filesFolder, 'in.csv'), 'x');
    assert.match((await send({})).message, /127\.0\.0\.1 is in a loopback range, which is not allowed/);
    const metadata = await send({ targetUrl: 'sftp://u@169.254.169.254' });
    assert.match(metadata.message, /metadata service of a cloud/);
  });
});

describe('a server that misbehaves', () => {
  let server: FakeSftp;
  let at: string;
  beforeEach(async () => {
    server = await startFakeSftp();
    at = `sftp://ann@127.0.0.1:${server.port}`;
    scene = await openStoreScene({ secrets: { pass: server.password, wrong: 'another' } });
    writeFileSync(join(scene.filesFolder, 'in.csv'), 'id\n1\n');
  });
  afterEach(async () => {
    scene.dispose();
    await server.close();
  });
  const send = (parameters: object = {}) =>
    transfer({
      ...{ sourceUrl: 'in.csv', targetUrl: `${at}/out`, targetObjectName: 'a.csv' },
      ...{ targetPassword: 'pass', hostKey: server.hostKey },
      ...parameters,
    });

  it('takes a password; without posix-rename, a file is replaced by removing it', async () => {
    for (const round of [1, 2]) assert.equal((await send()).status, 'SUCCESS', `round ${round}`);
    assert.deepEqual([...server.files], [['/out/a.csv', Buffer.from('id\n1\n')]]);
    assert.match((await send({ targetPassword: 'wrong' })).message, /does not let the user "ann" in/);
    const back = await transfer({
      ...{ sourceUrl: `${at}/out/a.csv`, targetObjectName: 'b.csv' },
      ...{ sourcePassword: 'pass', hostKey: server.hostKey },
    });
    assert.equal(back.status, 'SUCCESS', back.message);
    assert.equal(readFileSync(join(scene.filesFolder, 'b.csv'), 'utf8'), 'id\n1\n');
  });

  it('that loses bytes leaves no half file', async () => {
    server.loses = 2;
    const { status, message } = await send();
    assert.equal(status, 'FAILED');
    assert.match(message, /has 3 bytes of "out\/a\.csv", and 5 were sent: run again/);
    assert.deepEqual([...server.files.keys()], []);
  });

  it('that lists names which lead elsewhere is refused', async () => {
    server.files.set('/in/a.csv', Buffer.from('1\n'));
    await scene.rows('create table t (id integer)');
    for (const name of ['../a.csv', 'b/c.csv', 'a\0.csv']) {
      server.listed = [name];
      const { message } = await scene.component('s3-load', {
        ...{ s3ObjectPrefix: `${at}/in/`, credentials: 'pass', targetTable: 't', hostKey: server.hostKey },
      });
      assert.match(message, /listed ".*", which is no name of a file/);
    }
  });

  it('says what is missing before it connects', async () => {
    for (const [parameters, words] of [
      [
        { targetPassword: undefined },
        /set "credentials" to the secret reference of the password or the private key/,
      ],
      [{ targetUrl: `sftp://ann:secret@127.0.0.1/` }, /an address must not have a password/],
      [{ targetUrl: 'sftp:///x' }, /write it as sftp:\/\/user@host\/folder\//],
      [{ targetUrl: `sftp://127.0.0.1:${server.port}/out` }, /there is no user for sftp:\/\/127\.0\.0\.1/],
      [{ targetUrl: `${at}/../out` }, /must not have a part/],
      [{ sourceUsername: 'ann' }, /"sourceUsername" is given, but only SFTP has users/],
    ] as const)
      assert.match((await send(parameters)).message, words);
  });
});

describe('a server that does not answer', () => {
  it('is given up within its bound, and left at once by who is cancelled', async () => {
    const server = await startFakeSftp();
    const egress = createEgress({ allow: parseEgressAllow(['127.0.0.0/8']), setting: 'S', operator: 'o' });
    const { port, username, hostKey } = server;
    const store = createSftpStore({
      server: {
        ...{ name: 'sftp://here', host: '127.0.0.1', port, username, hostKey },
        ...{ password: new Secret(server.password), privateKey: undefined, passphrase: undefined },
      },
      egress,
      time: { sleep: async () => undefined, random: () => 0, date: () => new Date() },
      bounds: { connectMilliseconds: 60_000, answerMilliseconds: 50 },
    });
    try {
      server.files.set('/a', Buffer.from('a'));
      server.hangs.add('STAT');
      const never = new AbortController().signal;
      await assert.rejects(
        store.stat('a', never),
        /sftp:\/\/here did not answer within 0\.05 s|closed the connection/,
      );
      const cancelled = new AbortController();
      const left = assert.rejects(store.stat('a', cancelled.signal), /cancelled/);
      cancelled.abort(new Error('cancelled'));
      await left;
      server.hangs.clear();
      assert.equal((await store.stat('a', never)).size, 1);
    } finally {
      store.close();
      await server.close();
    }
  });
});
