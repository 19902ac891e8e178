/** How a run's secrets are read, and the messages if that fails. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secret, type SecretCoordinates, type SecretLookup } from '@headgate/contract';
import { ControlPlaneError } from '../session/control-plane.ts';
import { type Vault, VaultError } from '../vaults/vault.ts';
import { createSecretReferences } from './secret-references.ts';

const work = { workId: 'work', epoch: 3 };
const running = new AbortController().signal;
const at: SecretCoordinates = { secretName: 'orders', secretKey: 'password', vaultName: 'main' };
const unused = () => assert.fail('it only reads');

function referencesWith(lookUp: () => Promise<SecretCoordinates>, read: Vault['read']) {
  const asked: SecretLookup[] = [];
  const vault: Vault = { read, write: unused, exists: unused, delete: unused };
  const references = createSecretReferences({
    controlPlane: {
      secretReference: (body) => {
        asked.push(body);
        return lookUp();
      },
    },
    instanceId: 'instance',
    vaults: { find: ({ vaultName }) => (vaultName === 'gone' ? undefined : vault) },
    backoff: () => ({ next: () => 0, reset: () => undefined }),
  });
  return { asked, read: (name: string, key?: string) => references.read(work, name, running, key) };
}
const found = async () => at;
const value = async () => new Secret('of the vault');

test('the place comes from the server, for held work, and the value from the vault', async () => {
  const { asked, read } = referencesWith(found, async (address) => new Secret(JSON.stringify(address)));
  assert.deepEqual(JSON.parse((await read('lake')).reveal()), { name: 'orders', key: 'password' });
  assert.deepEqual(asked, [{ instanceId: 'instance', ...work, name: 'lake' }]);
});

test('a caller may select a key of a whole secret, and no other key than that of the reference', async () => {
  const readAddress: Vault['read'] = async (address) => new Secret(JSON.stringify(address));
  const whole = referencesWith(async () => ({ secretName: 'orders' }), readAddress);
  assert.deepEqual(JSON.parse((await whole.read('lake', 'user')).reveal()), { name: 'orders', key: 'user' });
  const keyed = referencesWith(found, readAddress);
  assert.equal(JSON.parse((await keyed.read('lake', 'password')).reveal()).key, 'password');
  await assert.rejects(keyed.read('lake', 'admin'), {
    message: /^the secret reference "lake" is for the key "password", not for "admin": /,
  });
});

test('the lookup is retried while the server is briefly unavailable', async () => {
  const answers = [new TypeError('fetch failed'), new ControlPlaneError(503, undefined, 'not yet')];
  const { asked, read } = referencesWith(async () => {
    const fault = answers.pop();
    if (fault !== undefined) throw fault;
    return at;
  }, value);
  assert.equal((await read('lake')).reveal(), 'of the vault');
  assert.equal(asked.length, 3);
});

test('a refusal, and an older server, fail at once with a message', async () => {
  const faults = [
    [
      new ControlPlaneError(404, 'secret-reference-not-found', 'there is none'),
      /does not exist in the project: create it or correct the name$/,
    ],
    [
      new ControlPlaneError(404, 'path-not-found', 'no such path'),
      /does not support secrets in runs: upgrade/,
    ],
    [new ControlPlaneError(409, 'work-not-held', 'not held'), / cannot be looked up: not held$/],
  ] as const;
  for (const [fault, message] of faults) {
    const { asked, read } = referencesWith(() => Promise.reject(fault), value);
    await assert.rejects(read('lake'), { message });
    await assert.rejects(read('lake'), { message: /^the secret reference "lake" / });
    assert.equal(asked.length, 2);
  }
});

test('a refusal of the vault names the vault, the secret and the reference', async () => {
  const denied = referencesWith(found, () => Promise.reject(new VaultError('denied', 'main')));
  await assert.rejects(denied.read('lake'), {
    message:
      /^the secret reference "lake" \(secret "orders", key "password"\) cannot be read: the vault "main" refuses the agent/,
  });
  const gone = referencesWith(async () => ({ secretName: 'orders', vaultName: 'gone' }), value);
  await assert.rejects(gone.read('lake'), {
    message:
      'the secret reference "lake" (secret "orders") cannot be read: this agent has no vault named "gone": add it to HEADGATE_AGENT_VAULTS, or name another vault.',
  });
});
