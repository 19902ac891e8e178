/**
 * Google Secret Manager: the conformance suite and its own behavior, through the SDK with Google's
 * addresses on loopback.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Secret } from '@headgate/contract';
import { googleCredentials, startFakeGoogleSecrets } from '../../testing/fake-google-secrets.ts';
import { canary, requireFault, testVaultConformance } from '../../testing/vault-conformance.ts';
import { createGoogleVault } from './google-secret-manager.ts';

const signal = AbortSignal.timeout(300_000);
const google = await startFakeGoogleSecrets();
const folder = await mkdtemp(join(tmpdir(), 'headgate-google-'));
after(async () => {
  google.close();
  await rm(folder, { recursive: true, force: true });
});

async function credentialFile(content: object): Promise<string> {
  const path = join(folder, `${Math.random()}.json`);
  await writeFile(path, JSON.stringify(content));
  return path;
}
process.env.GOOGLE_APPLICATION_CREDENTIALS = await credentialFile(googleCredentials.serviceAccount);

const createVault = (others: { location?: string } = {}) =>
  createGoogleVault({
    name: 'g',
    project: google.project,
    endpoint: google.endpoint,
    prefix: 'headgate-',
    ...others,
  });
const shared = createVault();
const write = (name: string, vault = shared, within = signal) =>
  vault.write({ name }, new Secret(canary), within);
const latest = (name: string) => {
  const version = google.secrets.get(`headgate-${name}`)?.versions.at(-1);
  assert.ok(version);
  return version;
};

testVaultConformance('google-secret-manager', async () => shared, { separator: '-' });

test('Google: a service account signs its own token, a user’s refresh token is exchanged, and no other host is contacted', async () => {
  const before = { ...google.seen };
  await write('signed', createVault());
  assert.ok(google.seen.selfSigned > before.selfSigned);
  assert.equal(google.seen.fromEndpoint, before.fromEndpoint);
  await withCredential(googleCredentials.user, async () => write('exchanged', createVault()));
  assert.ok(google.seen.fromEndpoint > before.fromEndpoint);
  assert.deepEqual(google.strangers, []);
});

test('Google: the reference is the full resource name, and the region is used', async () => {
  const vault = createVault({ location: 'europe-north1' });
  assert.deepEqual(await vault.write({ name: 'place', key: 'k' }, new Secret('x'), signal), {
    resolverRef: `//secretmanager.googleapis.com/projects/${google.project}/secrets/headgate-place#k`,
    vaultSecretName: 'headgate-place',
  });
  assert.deepEqual(google.secrets.get('headgate-place')?.replication, {
    userManaged: { replicas: [{ location: 'europe-north1' }] },
  });
});

test('Google: an invalid name or value is refused with the reason', async () => {
  for (const name of ['a/b', 'a.b']) {
    await assert.rejects(write(name), requireFault('invalid'));
    await assert.rejects(write(name), /letters, digits, hyphens and _/);
  }
  const long = shared.write({ name: 'long' }, new Secret('ü'.repeat(33_000)), signal);
  await assert.rejects(long, /limit of a secret is 65536 bytes/);
});

test('Google: a disabled or destroyed latest version is reported, and writing the whole secret adds a version', async () => {
  for (const state of ['DISABLED', 'DESTROYED'] as const) {
    await write('state');
    latest('state').state = state;
    await assert.rejects(shared.read({ name: 'state' }, signal), requireFault('disabled'));
    const keyed = shared.write({ name: 'state', key: 'k' }, new Secret('x'), signal);
    await assert.rejects(keyed, requireFault('disabled'));
    await write('state');
    assert.equal((await shared.read({ name: 'state' }, signal)).reveal(), canary);
  }
});

test('Google: another client that creates the same secret at the same time is no failure', async () => {
  await Promise.all(
    ['1', '2', '3', '4'].map((text) => shared.write({ name: 'race' }, new Secret(text), signal)),
  );
  assert.equal(google.secrets.get('headgate-race')?.versions.length, 4);
});

test('Google: missing permissions, throttling, errors and timeouts are distinguished', async () => {
  await write('told');
  for (const [failure, fault, times] of [
    ['PERMISSION_DENIED', 'denied', 1],
    ['RESOURCE_EXHAUSTED', 'throttled', 3],
    ['UNAVAILABLE', 'unavailable', 3],
    ['FAILED_PRECONDITION', 'invalid', 1],
    ['INTERNAL', 'unavailable', 1],
  ] as const) {
    google.failures.push(...Array.from({ length: times }, () => failure));
    await assert.rejects(write('told'), requireFault(fault));
    assert.equal(google.failures.length, 0, `${failure} is tried ${times} times`);
  }
  google.failures.push('RESOURCE_EXHAUSTED');
  await write('told');
  google.failures.push(0);
  await assert.rejects(write('told', shared, AbortSignal.timeout(200)), requireFault('timeout'));
  await assert.rejects(write('told', shared, AbortSignal.abort()), requireFault('timeout'));
});

test('Google: a wrong key, a refused refresh token and a missing credential are refused', async () => {
  const { privateKey } = await import('node:crypto').then(({ generateKeyPairSync }) =>
    generateKeyPairSync('rsa', {
      modulusLength: 2_048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    }),
  );
  for (const content of [
    { ...googleCredentials.serviceAccount, private_key: privateKey },
    { ...googleCredentials.serviceAccount, client_email: 'other@example.com' },
    { ...googleCredentials.user, refresh_token: 'another' },
  ]) {
    await withCredential(content, () => assert.rejects(write('x', createVault()), requireFault('denied')));
  }
  process.env.GOOGLE_APPLICATION_CREDENTIALS = join(folder, 'none.json');
  await assert.rejects(write('x', createVault()), requireFault('denied'));
});

async function withCredential(content: object, work: () => Promise<unknown>): Promise<void> {
  const before = process.env.GOOGLE_APPLICATION_CREDENTIALS;
  process.env.GOOGLE_APPLICATION_CREDENTIALS = await credentialFile(content);
  try {
    await work();
  } finally {
    process.env.GOOGLE_APPLICATION_CREDENTIALS = before;
  }
}
