/**
 * Azure Key Vault: the conformance suite and its own behavior, through the SDK with a directory and a vault
 * on loopback.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Secret } from '@headgate/contract';
import { azureCredential, startFakeKeyVault } from '../../testing/fake-key-vault.ts';
import { canary, requireFault, testVaultConformance } from '../../testing/vault-conformance.ts';
import { createAzureVault } from './azure-key-vault.ts';

const signal = AbortSignal.timeout(300_000);
const azure = await startFakeKeyVault();
process.env.AZURE_TENANT_ID = azureCredential.tenantId;
process.env.AZURE_CLIENT_ID = azureCredential.clientId;
process.env.AZURE_CLIENT_SECRET = azureCredential.clientSecret;
// Other credentials would look for programs and metadata services of the machine.
process.env.AZURE_TOKEN_CREDENTIALS = 'EnvironmentCredential';
after(() => azure.close());

const createVault = () => createAzureVault({ name: 'az', address: azure.address, prefix: 'headgate-' });
const shared = createVault();
const write = (name: string, vault = shared, within = signal) =>
  vault.write({ name }, new Secret(canary), within);

testVaultConformance('azure-key-vault', async () => shared, { separator: '-', valueBytes: 24_000 });

test('Azure: one token is used for many calls, and no other host is contacted', async () => {
  const vault = createVault();
  const before = azure.tokensGiven();
  for (const name of ['one', 'two', 'three']) await write(name, vault);
  assert.equal(azure.tokensGiven() - before, 1);
  assert.deepEqual(azure.strangers, []);
});

test('Azure: the reference is the address of the secret', async () => {
  assert.deepEqual(await shared.write({ name: 'place', key: 'k' }, new Secret('x'), signal), {
    resolverRef: 'https://north.vault.azure.net/secrets/headgate-place#k',
    vaultSecretName: 'headgate-place',
  });
});

test('Azure: an invalid name or value is refused with the reason', async () => {
  for (const name of ['a/b', 'a_b', 'a.b', 'a'.repeat(127)]) {
    await assert.rejects(write(name), requireFault('invalid'));
    await assert.rejects(write(name), /letters, digits and hyphens/);
  }
  const long = shared.write({ name: 'long' }, new Secret('ü'.repeat(13_000)), signal);
  await assert.rejects(long, /limit of a secret is 25000 bytes/);
});

test('Azure: a deleted secret cannot be read, and its name cannot be used until it is purged', async () => {
  await write('soft');
  await shared.delete('soft', signal);
  await assert.rejects(shared.read({ name: 'soft' }, signal), requireFault('not-found'));
  await assert.rejects(write('soft'), requireFault('being-deleted'));
  azure.secrets.delete('headgate-soft');
  await write('soft');
});

test('Azure: a disabled secret, missing permissions, throttling, errors and timeouts are distinguished', async () => {
  await write('told');
  const retained = azure.secrets.get('headgate-told');
  assert.ok(retained);
  retained.state = 'disabled';
  await assert.rejects(shared.read({ name: 'told' }, signal), requireFault('disabled'));
  retained.state = 'live';
  for (const [failure, fault, times] of [
    [{ status: 403, code: 'Forbidden', inner: 'ForbiddenByRbac' }, 'denied', 1],
    [{ status: 429, code: 'Throttled' }, 'throttled', 1],
    [{ status: 500, code: 'InternalError' }, 'unavailable', 3],
    [{ status: 409, code: 'Conflict', inner: 'ObjectIsBeingDeleted' }, 'being-deleted', 1],
  ] as const) {
    azure.failures.push(...Array.from({ length: times }, () => failure));
    await assert.rejects(write('told'), requireFault(fault));
    assert.equal(azure.failures.length, 0, `${fault} is tried ${times} times`);
  }
  azure.failures.push({ status: 503, code: 'ServiceUnavailable' });
  await write('told');
  azure.failures.push(0);
  await assert.rejects(write('told', shared, AbortSignal.timeout(200)), requireFault('timeout'));
  await assert.rejects(write('told', shared, AbortSignal.abort()), requireFault('timeout'));
});

test('Azure: a wrong client secret, a token for another service and an expired token are refused', async () => {
  process.env.AZURE_CLIENT_SECRET = 'another one';
  try {
    await assert.rejects(write('x', createVault()), requireFault('denied'));
  } finally {
    process.env.AZURE_CLIENT_SECRET = azureCredential.clientSecret;
  }
  azure.claims.aud = 'https://graph.microsoft.com';
  await assert.rejects(write('x', createVault()), requireFault('denied'));
  azure.claims.aud = 'https://vault.azure.net';
  azure.claims.seconds = -600;
  await assert.rejects(write('x', createVault()), requireFault('denied'));
  azure.claims.seconds = 3_600;
  await write('x', createVault());
});
