/** The sealed values that the agent opens and refuses, and interoperability with other tools. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPublicKey,
  randomBytes,
  randomUUID,
} from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Receipt, SecretPlace } from '@headgate/contract';
import { CompactEncrypt, compactVerify } from 'jose';
import { createIssuer } from '../../testing/issuer.ts';
import { Certificates } from '../certificates/certificates.ts';
import { createLog } from '../log.ts';
import { TakenValues } from '../secrets/taken-values.ts';
import { createVaults } from '../vaults/registry.ts';
import { createSecretWriteHandler } from './secret-write.ts';

const root = await mkdtemp(join(tmpdir(), 'headgate-write-'));
after(() => rm(root, { recursive: true, force: true }));
const { signal } = new AbortController();
const agentId = 'the-agent';

async function scene(keyType: 'ec' | 'rsa' = 'ec') {
  const folder = join(root, randomUUID());
  const time = { now: Date.parse('2026-11-21T09:30:00Z') };
  const now = () => new Date(time.now);
  const issuer = await createIssuer(agentId, now);
  const certificates = await Certificates.open({
    folder: join(folder, 'keys'),
    instanceId: randomUUID(),
    credential: { clientId: 'c', clientSecret: 's' },
    keyType,
    request: issuer.issue,
    log: createLog({ level: 'error', write: () => undefined }),
    now,
  });
  await certificates.renew(signal);
  const key = certificates.current ?? assert.fail();
  const vaults = createVaults([{ kind: 'file', name: 'own', key: undefined }], join(folder, 'vaults'));
  const open = async () =>
    createSecretWriteHandler({
      certificates,
      takenValues: await TakenValues.open(join(folder, 'values'), now),
      vaults,
      now,
    });
  const header = (source: object = {}) => ({
    alg: keyType === 'ec' ? 'ECDH-ES' : 'RSA-OAEP-256',
    enc: 'A256GCM',
    typ: 'headgate-secret+jwe',
    kid: key.kid,
    agent: agentId,
    ...place,
    jti: randomUUID(),
    exp: time.now / 1_000 + 300,
    ...source,
  });
  const publicKey = createPublicKey(key.privateKey);
  const seal = (source: object = {}, plain = '{"password":"x1"}') =>
    new CompactEncrypt(Buffer.from(plain)).setProtectedHeader(header(source)).encrypt(publicKey);
  const write = async (sealedValue: string, source: object = {}, workId: string = randomUUID()) => {
    const payload = { ...place, keyId: key.kid, sealedValue, ...source };
    const work = { workId, epoch: 1, kind: 'secret-write' as const, leaseExpiresAt: '', payload };
    const nothing = () => undefined;
    return (await open())(work, {
      reportStarted: async () => undefined,
      step: nothing,
      tested: nothing,
      line: nothing,
      variables: nothing,
      conceal: nothing,
      cancel: signal,
      kill: signal,
    });
  };
  /** Writes a value that the handler must refuse before it calls a vault. */
  const refuse = async (sealedValue: string, why: RegExp, source: object = {}) => {
    const { status, message = '', valueFault = '' } = await write(sealedValue, source);
    assert.equal(status, 'FAILED');
    assert.match(valueFault, why, JSON.stringify(source));
    assert.equal(message, `the sealed value is refused: ${valueFault}.`);
  };
  const stored = async () => (await vaults.find({})?.read({ name: place.name }, signal))?.reveal();
  return { folder, time, key, header, publicKey, seal, write, refuse, stored };
}
const place: SecretPlace = { name: 'orders-api', type: 'PASSWORD' };

for (const [keyType, alg] of [
  ['ec', 'ECDH-ES'],
  ['ec', 'ECDH-ES+A256KW'],
  ['rsa', 'RSA-OAEP-256'],
] as const) {
  test(`a value sealed by ${alg} is written, and the receipt is signed by the same key`, async () => {
    const { key, publicKey, seal, write, stored } = await scene(keyType);
    const jwe = await seal({ alg });
    const { status, receipt = '' } = await write(jwe);
    assert.equal(status, 'SUCCESS');
    assert.equal(await stored(), 'x1');
    const { payload, protectedHeader } = await compactVerify(receipt, publicKey);
    assert.equal(protectedHeader.kid, key.kid);
    const notice = JSON.parse(new TextDecoder().decode(payload)) as Receipt;
    assert.deepEqual(
      [notice.agent, notice.name, notice.resolverRef, notice.vaultSecretName, notice.sha256],
      [
        agentId,
        'orders-api',
        'headgate-file://own/orders-api',
        'orders-api',
        createHash('sha256').update(jwe).digest('base64url'),
      ],
    );
  });
}

test('a value with members is stored as JSON, and refused if a member is missing', async () => {
  const { seal, write, refuse, stored } = await scene();
  const type = 'OAUTH_CLIENT_CRED';
  await write(await seal({ type }, '{"clientId":"a","clientSecret":"b","more":"c"}'), { type });
  assert.deepEqual(JSON.parse((await stored()) ?? ''), { clientId: 'a', clientSecret: 'b' });
  await refuse(await seal({ type }, '{"clientId":"a"}'), /lacks clientSecret/, { type });
  for (const plain of ['["x"]', '{"password":1}', 'x1', 'null', ''])
    await refuse(await seal({}, plain), /not a JSON object of texts/);
  await refuse(await seal(), /another `provider`/, { provider: 'AWS' });
  await assert.rejects(
    write(await seal({ provider: 'AWS' }), { provider: 'AWS' }),
    /no vault of the provider AWS/,
  );
});

test('an expired, swapped, cut or changed value, or one for another key, is refused', async () => {
  const { time, key, seal, write, refuse, stored } = await scene();
  const other = await scene();
  for (const source of [{ name: 'other' }, { key: 'k' }, { vaultName: 'v' }, { type: 'COMPOSITE_TOKEN' }])
    await refuse(await seal(), /sealed for another/, source);
  await refuse(await seal({ agent: 'x' }), /another agent/);
  await refuse(await other.seal({ kid: key.kid }), /sealed for another key/);
  await refuse(await other.seal(), /another key/);
  await assert.rejects(write(await seal(), { keyId: 'x'.repeat(43) }), /does not have the key/);
  const parts = (await seal()).split('.');
  const [head = '', , iv = '', text = '', tag = ''] = parts;
  for (const changed of [
    [head, '', iv, text.slice(0, -2), tag],
    [head, '', iv, text, tag.slice(0, -2)],
    [head, '', iv, `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`, tag],
    [
      Buffer.from(
        JSON.stringify({ ...JSON.parse(String(Buffer.from(head, 'base64url'))), jti: randomUUID() }),
      ).toString('base64url'),
      '',
      iv,
      text,
      tag,
    ],
    ['e30', '', iv, text, tag],
    ['', '', iv, text, tag],
  ])
    await refuse(changed.join('.'), /cut or changed|cannot be read|another key/);
  const late = await seal();
  time.now += 301_000;
  await refuse(late, /stale/);
  await assert.rejects(stored(), /no such secret/);
});

test('a value is written once, also after a restart; the same work again gets the same receipt', async () => {
  const { seal, write } = await scene();
  const jwe = await seal();
  const workId = randomUUID();
  const first = await write(jwe, {}, workId);
  assert.deepEqual(await write(jwe, {}, workId), first);
  await assert.rejects(write(jwe, {}, randomUUID()), /already used/);
  const jti = randomUUID();
  await write(await seal({ jti }));
  await assert.rejects(write(await seal({ jti })), /already used/);
});

const openssl = (args: string[], input?: Buffer) => execFileSync('openssl', args, { input });

test('openssl and AES-GCM alone seal a value by RSA-OAEP-256 that the agent opens, and open one of its kind', async () => {
  const { folder, header, key, publicKey, seal, write, stored } = await scene('rsa');
  const oaep = [
    ...[
      '-pkeyopt',
      'rsa_padding_mode:oaep',
      '-pkeyopt',
      'rsa_oaep_md:sha256',
      '-pkeyopt',
      'rsa_mgf1_md:sha256',
    ],
  ];
  const [publicFile, privateFile] = [join(folder, 'public.pem'), join(folder, 'private.pem')];
  await writeFile(publicFile, publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(privateFile, key.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const [cek, iv] = [randomBytes(32), randomBytes(12)];
  const wrapped = openssl(['pkeyutl', '-encrypt', '-pubin', '-inkey', publicFile, ...oaep], cek);
  const head = Buffer.from(JSON.stringify(header())).toString('base64url');
  const cipher = createCipheriv('aes-256-gcm', cek, iv).setAAD(Buffer.from(head));
  const text = Buffer.concat([cipher.update('{"password":"by openssl"}'), cipher.final()]);
  const rest = [wrapped, iv, text, cipher.getAuthTag()].map((part) => part.toString('base64url'));
  assert.equal((await write([head, ...rest].join('.'))).status, 'SUCCESS');
  assert.equal(await stored(), 'by openssl');

  const [aad = '', ...parts] = (await seal()).split('.');
  const [theirKey, theirIv, theirText, tag] = parts.map((part) => Buffer.from(part, 'base64url'));
  assert.ok(theirKey && theirIv && theirText && tag);
  const theirCek = openssl(['pkeyutl', '-decrypt', '-inkey', privateFile, ...oaep], theirKey);
  const decipher = createDecipheriv('aes-256-gcm', theirCek, theirIv).setAAD(Buffer.from(aad));
  decipher.setAuthTag(tag);
  assert.equal(decipher.update(theirText, undefined, 'utf8') + decipher.final('utf8'), '{"password":"x1"}');
});

test('openssl derives the key of a value that is sealed by ECDH-ES', async () => {
  const { folder, key, seal } = await scene();
  const [head = '', , iv = '', text = '', tag = ''] = (await seal()).split('.');
  const { epk } = JSON.parse(String(Buffer.from(head, 'base64url')));
  const [mine, theirs, secret] = ['mine.pem', 'epk.pem', 'z'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(mine, key.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  await writeFile(
    theirs,
    createPublicKey({ key: epk, format: 'jwk' }).export({ type: 'spki', format: 'pem' }),
  );
  openssl(['pkeyutl', '-derive', '-inkey', mine, '-peerkey', theirs, '-out', secret]);
  // RFC 7518 §4.6.2: the Concat KDF over the lengths and names of algorithm and parties, and the length of
  // the key.
  const length = (bytes: number) => {
    const word = Buffer.alloc(4);
    word.writeUInt32BE(bytes);
    return word;
  };
  const info = Buffer.concat([length(7), Buffer.from('A256GCM'), length(0), length(0), length(256)]);
  const hexKey = (await readFile(secret)).toString('hex');
  const derived = openssl([
    ...['kdf', '-keylen', '32', '-binary', '-kdfopt', 'digest:SHA256'],
    ...['-kdfopt', `hexkey:${hexKey}`, '-kdfopt', `hexinfo:${info.toString('hex')}`, 'SSKDF'],
  ]);
  const decipher = createDecipheriv('aes-256-gcm', derived, Buffer.from(iv, 'base64url'));
  decipher.setAAD(Buffer.from(head)).setAuthTag(Buffer.from(tag, 'base64url'));
  const opened = decipher.update(Buffer.from(text, 'base64url'), undefined, 'utf8') + decipher.final('utf8');
  assert.equal(opened, '{"password":"x1"}');
});
