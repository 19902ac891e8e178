import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SecretCoordinates } from '@headgate/contract';
import { readingContext } from '../../testing/reading-work.ts';
import type { Vaults } from '../vaults/registry.ts';
import { type Vault, VaultError, type VaultFault, vaultFaults } from '../vaults/vault.ts';
import { createSecretCheckHandler } from './secret-check.ts';

const unused = () => assert.fail('no value is read, and nothing is changed');

function checkWith(exists: Vault['exists'], secrets: SecretCoordinates[]) {
  const vault: Vault = { exists, read: unused, write: unused, delete: unused };
  const vaults: Vaults = { find: ({ provider }) => (provider === 'AZURE' ? undefined : vault) };
  const work = {
    workId: 'w',
    epoch: 1,
    kind: 'secret-check' as const,
    leaseExpiresAt: '',
    payload: { secrets },
  };
  return createSecretCheckHandler({ vaults })(work, readingContext);
}

test('each secret is checked, in order', async () => {
  let asked = 0;
  const secrets = Array.from({ length: 20 }, (_, index) => ({
    secretName: `s${index}`,
    ...(index === 3 ? { secretKey: 'k' } : {}),
    ...(index === 4 ? { provider: 'AZURE' as const } : {}),
  }));
  const { status, checkedSecrets } = await checkWith(async ({ name, key }) => {
    asked += 1;
    if (name === 's1') await new Promise((resolve) => setImmediate(resolve));
    return name !== 's2' && key === undefined;
  }, secrets);
  assert.deepEqual([status, asked], ['SUCCESS', 19]);
  const findings = checkedSecrets?.map(({ finding }) => finding) ?? [];
  assert.deepEqual(findings.slice(0, 5), ['RESOLVED', 'RESOLVED', 'NOT_FOUND', 'NOT_FOUND', 'NO_SUCH_VAULT']);
  assert.equal(findings.filter((finding) => finding === 'RESOLVED').length, 17);
});

test('the finding and the message say why a vault refused or failed', async () => {
  const faults = Object.keys(vaultFaults) as VaultFault[];
  const secrets = faults.map((secretName) => ({ secretName }));
  const { checkedSecrets } = await checkWith(async ({ name }) => {
    throw new VaultError(name as VaultFault, 'main');
  }, secrets);
  for (const [index, fault] of faults.entries()) {
    const { finding, message } = checkedSecrets?.[index] ?? assert.fail();
    assert.notEqual(finding, 'RESOLVED');
    assert.equal(finding === 'DENIED', fault === 'denied');
    assert.match(message ?? '', /^the vault "main" /);
  }
  const broken = await checkWith(() => Promise.reject(new Error('the disk')), [{ secretName: 's' }]);
  assert.deepEqual(broken.checkedSecrets, [{ finding: 'UNAVAILABLE', message: 'the disk' }]);
});
