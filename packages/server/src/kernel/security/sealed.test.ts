import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { format, inspect } from 'node:util';
import { createSealer, generateSecret, loadMasterKey, parseMasterKey, Secret } from './sealed.ts';

const plain = 'the plain text of a secret';
const secret = new Secret(plain);
const key = Buffer.alloc(32, 1);
const sealer = createSealer(key);
const folder = await mkdtemp(join(tmpdir(), 'headgate-sealed-'));
after(() => rm(folder, { recursive: true, force: true }));

test('a secret cannot be printed, serialized, inspected or concatenated by accident', () => {
  const written = [
    String(secret),
    `${secret}`,
    `${secret as unknown as string}x`,
    ['a', secret].join(' '),
    JSON.stringify({ secret }),
    JSON.stringify([secret]),
    inspect(secret),
    inspect({ deep: { secret } }, { showHidden: true, depth: 9, customInspect: false }),
    format('%s %o %j %O', secret, secret, secret, secret),
    JSON.stringify({ ...secret }),
    JSON.stringify(Object.getOwnPropertyNames(secret)),
    JSON.stringify(Object.entries(structuredClone({ ...secret }))),
    new Error('x', { cause: secret }).stack,
    inspect(new Error('x', { cause: secret })),
  ];
  for (const text of written) assert.ok(!text?.includes('plain'), text);
  assert.equal(secret.reveal(), plain);
});

test('a sealed value can be unsealed for its purpose only', () => {
  const sealed = sealer.seal(secret, 'signing key');
  assert.ok(!sealed.toString('latin1').includes(plain));
  assert.equal(sealer.unseal(sealed, 'signing key').reveal(), plain);
  assert.throws(() => sealer.unseal(sealed, 'provider token'), /cannot be decrypted with this master key/);
});

test('a sealed value cannot be unsealed with another master key', () => {
  const sealed = sealer.seal(secret, 'p');
  assert.throws(() => createSealer(Buffer.alloc(32, 2)).unseal(sealed, 'p'), /HEADGATE_MASTER_KEY/);
});

test('a truncated or modified value cannot be unsealed', () => {
  const sealed = sealer.seal(secret, 'p');
  for (let length = 0; length < sealed.length; length += 1) {
    assert.throws(() => sealer.unseal(sealed.subarray(0, length), 'p'));
  }
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    assert.throws(() => sealer.unseal(changed, 'p'), `byte ${index}`);
  }
  assert.throws(() => sealer.unseal(Buffer.concat([sealed, Buffer.of(0)]), 'p'));
});

test('the same secret is sealed differently each time', () => {
  assert.notDeepEqual(sealer.seal(secret, 'p'), sealer.seal(secret, 'p'));
});

test('empty secrets and secrets of any characters survive sealing', () => {
  for (const text of ['', 'ü 𝒳 \0 \n', 'x'.repeat(100_000)]) {
    assert.equal(sealer.unseal(sealer.seal(new Secret(text), 'p'), 'p').reveal(), text);
  }
});

test('a digest matches its text with the same purpose and key only', () => {
  const digest = sealer.digest('text', 'client secret');
  assert.ok(sealer.matches('text', 'client secret', digest));
  assert.ok(!sealer.matches('text', 'other', digest));
  assert.ok(!sealer.matches('texts', 'client secret', digest));
  assert.ok(!sealer.matches('text', 'client secret', digest.subarray(1)));
  assert.ok(!createSealer(Buffer.alloc(32, 2)).matches('text', 'client secret', digest));
  assert.notDeepEqual(
    sealer.digest('b', 'a'),
    sealer.digest('', 'ab'),
    'purpose and text do not run together',
  );
});

test('a master key is 32 bytes, in base64 or hexadecimal', () => {
  assert.deepEqual(parseMasterKey(new Secret(key.toString('base64'))), key);
  assert.deepEqual(parseMasterKey(new Secret(key.toString('hex'))), key);
  for (const text of ['', 'short', key.toString('hex').slice(2), key.subarray(1).toString('base64')]) {
    assert.throws(() => parseMasterKey(new Secret(text)), /HEADGATE_MASTER_KEY must be 32 bytes/);
  }
});

test('a missing master key is created once, in a file that only its owner can read', async () => {
  const file = join(folder, 'master-key');
  const made = loadMasterKey(undefined, file);
  assert.equal(made.length, 32);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.deepEqual(loadMasterKey(undefined, file), made);
  assert.deepEqual(loadMasterKey(new Secret(key.toString('hex')), file), key, 'a given one goes first');
  assert.equal((await readFile(file, 'utf8')).trim(), made.toString('base64'));
});

test('a truncated master key file is an error and is not replaced', async () => {
  const file = join(folder, 'cut');
  await writeFile(file, 'AAAA');
  assert.throws(() => loadMasterKey(undefined, file), /does not contain a valid master key/);
  assert.equal(await readFile(file, 'utf8'), 'AAAA');
});

test('generated secrets are long, URL-safe and unique', () => {
  const made = new Set(Array.from({ length: 1_000 }, () => generateSecret().reveal()));
  assert.equal(made.size, 1_000);
  for (const text of made) assert.match(text, /^[\w-]{43}$/);
});
