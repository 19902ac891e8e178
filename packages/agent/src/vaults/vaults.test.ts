/**
 * The vaults: the conformance suite for each, and their own behavior. Fakes that verify signatures and
 * tokens replace the services.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Secret } from '@headgate/contract';
import { startFakeHashicorpVault } from '../../testing/fake-hashicorp-vault.ts';
import { awsCredential, startFakeSecretsManager } from '../../testing/fake-secrets-manager.ts';
import { canary, requireFault, testVaultConformance } from '../../testing/vault-conformance.ts';
import { createAwsVault } from './aws-secrets-manager.ts';
import { createFileVault } from './file.ts';
import { createHashicorpVault } from './hashicorp-vault.ts';
import { createVaults } from './registry.ts';
import { parseVaults } from './settings.ts';

const signal = AbortSignal.timeout(300_000);
const folder = await mkdtemp(join(tmpdir(), 'headgate-vaults-'));
const hashicorp = await startFakeHashicorpVault('a token of the test');
const aws = await startFakeSecretsManager();
process.env.AWS_ACCESS_KEY_ID = awsCredential.accessKeyId;
process.env.AWS_SECRET_ACCESS_KEY = awsCredential.secretAccessKey;
after(async () => {
  hashicorp.close();
  aws.close();
  await rm(folder, { recursive: true, force: true });
});

const fileVault = (name = 'main', key?: Secret) => createFileVault({ name, folder, key });
const hashicorpVault = (token = 'a token of the test') =>
  createHashicorpVault({
    name: 'hc',
    address: hashicorp.address,
    mount: 'team/kv',
    namespace: 'north',
    prefix: 'headgate/',
    token: new Secret(token),
  });
const awsVault = () =>
  createAwsVault({ name: 'aws', region: aws.region, endpoint: aws.endpoint, prefix: 'headgate/' });

testVaultConformance('file', async () => fileVault());
testVaultConformance('hashicorp-vault', async () => hashicorpVault());
testVaultConformance('aws-secrets-manager', async () => awsVault());

test('the file vault is encrypted, only the owner can read its key, and a wrong key or a changed file is refused', async () => {
  const name = 'closed';
  await fileVault(name).write({ name: 'x' }, new Secret(canary), signal);
  for (const file of await readdir(folder)) {
    assert.ok(!(await readFile(join(folder, file))).includes('canary'), file);
    assert.equal((await stat(join(folder, file))).mode & 0o077, 0, file);
  }
  const input = new Secret(Buffer.alloc(32, 7).toString('base64'));
  await assert.rejects(fileVault(name, input).read({ name: 'x' }, signal), requireFault('denied'));
  const path = join(folder, `${name}.vault`);
  const bytes = await readFile(path);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  await writeFile(path, bytes);
  await assert.rejects(fileVault(name).read({ name: 'x' }, signal), requireFault('denied'));
});

test('concurrent writes to the file vault are all kept', async () => {
  const vault = fileVault('busy');
  const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
  await Promise.all(names.map((name) => vault.write({ name }, new Secret(name), signal)));
  for (const name of names) assert.equal((await fileVault('busy').read({ name }, signal)).reveal(), name);
});

test('a key cannot be set in a text without keys', async () => {
  for (const vault of [fileVault(), awsVault()]) {
    await vault.write({ name: 'plain' }, new Secret(canary), signal);
    await assert.rejects(
      vault.write({ name: 'plain', key: 'k' }, new Secret('x'), signal),
      requireFault('not-keyed'),
    );
    await vault.delete('plain', signal);
  }
});

test('HashiCorp Vault: a wrong token, too many requests, a sealed vault and timeouts are distinguished', async () => {
  const write = (vault = hashicorpVault(), within = signal) =>
    vault.write({ name: 'x' }, new Secret(canary), within);
  await assert.rejects(write(hashicorpVault('wrong')), requireFault('denied'));
  for (const [status, fault] of [
    [429, 'throttled'],
    [503, 'unavailable'],
    [400, 'invalid'],
    [403, 'denied'],
  ] as const) {
    hashicorp.failures.push(status);
    await assert.rejects(write(), requireFault(fault));
  }
  hashicorp.failures.push(0);
  await assert.rejects(write(hashicorpVault(), AbortSignal.timeout(200)), requireFault('timeout'));
  assert.equal(hashicorp.seen.at(-1)?.namespace, 'north');
});

test('HashiCorp Vault: concurrent writes of different keys are all kept', async () => {
  const vault = hashicorpVault();
  await vault.write({ name: 'shared', key: 'a' }, new Secret('1'), signal);
  hashicorp.onceBeforeWrite(() => {
    hashicorp.secrets.get('headgate/shared')?.versions.push({ a: '1', b: '2' });
  });
  await vault.write({ name: 'shared', key: 'c' }, new Secret('3'), signal);
  const whole = JSON.parse((await vault.read({ name: 'shared' }, signal)).reveal());
  assert.deepEqual(whole, { a: '1', b: '2', c: '3' });
});

test('AWS: a missing permission, throttling and a secret scheduled for deletion are distinguished', async () => {
  const vault = awsVault();
  const write = (name = 'y') => vault.write({ name }, new Secret(canary), signal);
  aws.failures.push('AccessDeniedException');
  await assert.rejects(write(), requireFault('denied'));
  aws.failures.push(...Array.from({ length: 3 }, () => 'ThrottlingException'));
  await assert.rejects(write(), requireFault('throttled'));
  aws.failures.push(...Array.from({ length: 3 }, () => 'InternalServiceError'));
  await assert.rejects(write(), requireFault('unavailable'));
  await write();
  await vault.delete('y', signal);
  await assert.rejects(write(), requireFault('being-deleted'));
  await assert.rejects(
    vault.write({ name: 'z' }, new Secret(canary), AbortSignal.abort()),
    requireFault('timeout'),
  );
});

test('AWS: a wrong signature is refused', async () => {
  process.env.AWS_SECRET_ACCESS_KEY = 'another one';
  try {
    await assert.rejects(awsVault().read({ name: 'y' }, signal), requireFault('denied'));
  } finally {
    process.env.AWS_SECRET_ACCESS_KEY = awsCredential.secretAccessKey;
  }
});

test('vaults are found by name and provider; the first is the default', () => {
  const text = JSON.stringify([
    { name: 'own', kind: 'file' },
    { name: 'north', kind: 'aws-secrets-manager', region: 'eu-north-1' },
    { name: 'west', kind: 'azure-key-vault', address: 'https://west.vault.azure.net/' },
    { name: 'south', kind: 'google-secret-manager', project: 'south-4711', location: 'europe-north1' },
    { name: 'kv', kind: 'hashicorp-vault', address: 'https://vault.example.com:8200/' },
  ]);
  const secrets = { fileKey: undefined, hashicorpToken: undefined };
  const vaults = createVaults(parseVaults(text, secrets), folder);
  const own = vaults.find({});
  assert.ok(own !== undefined);
  assert.equal(vaults.find({ vaultName: 'own' }), own);
  assert.equal(vaults.find({ provider: 'HEADGATE' }), own);
  for (const provider of ['AWS', 'AZURE', 'GCP', 'HASHICORP'] as const) {
    const found = vaults.find({ provider });
    assert.ok(found !== undefined && found !== own, provider);
  }
  assert.equal(vaults.find({ vaultName: 'own', provider: 'AWS' }), undefined);
  for (const bad of [
    '{',
    '[]',
    '[{"name":"x","kind":"none"}]',
    '[{"name":"../x","kind":"file"}]',
    '[{"name":"x","kind":"aws-secrets-manager"}]',
    '[{"name":"x","kind":"hashicorp-vault","address":"ftp://x"}]',
    '[{"name":"x","kind":"azure-key-vault","address":"http://x.vault.azure.net"}]',
    '[{"name":"x","kind":"azure-key-vault","address":"https://x.vault.azure.net","prefix":"a/"}]',
    '[{"name":"x","kind":"google-secret-manager"}]',
    '[{"name":"x","kind":"google-secret-manager","project":"p","endpoint":"http://x"}]',
    '[{"name":"x","kind":"file"},{"name":"x","kind":"file"}]',
  ]) {
    assert.throws(() => parseVaults(bad, secrets), Error, bad);
  }
});
