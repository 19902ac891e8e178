/** The conformance suite of all vaults. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { Secret } from '@headgate/contract';
import { type Vault, VaultError, type VaultFault } from '../src/vaults/vault.ts';

const signal = AbortSignal.timeout(120_000);
export const canary = 'canary "of/a+vault" \\ sécret';

export function requireFault(fault: VaultFault) {
  return (error: unknown) => {
    assert.ok(error instanceof VaultError, inspect(error));
    assert.equal(error.fault, fault, error.message);
    assert.ok(
      !inspect(error, { depth: 9, showHidden: true }).includes('canary'),
      'the value is in the error',
    );
    return true;
  };
}

/** Limits of some stores: the separator in names, and the bytes of a value. */
interface Limits {
  separator?: string;
  valueBytes?: number;
}

/** `open` returns the vault for one test. All tests may share a store. */
export function testVaultConformance(
  kind: string,
  open: () => Promise<Vault>,
  { separator = '/', valueBytes = 40_000 }: Limits = {},
): void {
  const createName = (what: string) =>
    `conformance${separator}${what}-${Math.random().toString(36).slice(2)}`;
  const read = async (vault: Vault, name: string, key?: string) =>
    (await vault.read({ name, key }, signal)).reveal();

  test(`${kind}: a written value can be read, and its reference does not contain it`, async () => {
    const vault = await open();
    const name = createName('text');
    const written = await vault.write({ name }, new Secret(canary), signal);
    assert.equal(await read(vault, name), canary);
    assert.ok(written.vaultSecretName.endsWith(name));
    assert.ok(!JSON.stringify(written).includes('canary'));
    assert.match(written.resolverRef, /conformance/);
  });

  test(`${kind}: writing again replaces the value`, async () => {
    const vault = await open();
    const name = createName('again');
    await vault.write({ name }, new Secret('first'), signal);
    await vault.write({ name }, new Secret('second'), signal);
    assert.equal(await read(vault, name), 'second');
  });

  test(`${kind}: writing a key changes one value of a secret and keeps the others`, async () => {
    const vault = await open();
    const name = createName('keys');
    await vault.write({ name, key: 'one' }, new Secret('1'), signal);
    await vault.write({ name, key: 'two' }, new Secret(canary), signal);
    const { resolverRef } = await vault.write({ name, key: 'one' }, new Secret('11'), signal);
    assert.deepEqual([await read(vault, name, 'one'), await read(vault, name, 'two')], ['11', canary]);
    assert.deepEqual(JSON.parse(await read(vault, name)), { one: '11', two: canary });
    assert.ok(resolverRef.endsWith('#one'));
    await assert.rejects(vault.read({ name, key: 'three' }, signal), requireFault('not-found'));
  });

  test(`${kind}: unusual keys and values are preserved`, async () => {
    const vault = await open();
    const name = createName('odd');
    for (const key of ['__proto__', 'constructor', 'a.b-c']) {
      await vault.write({ name, key }, new Secret(` ${key}\n`), signal);
      assert.equal(await read(vault, name, key), ` ${key}\n`);
    }
    const long = 'ü'.repeat(valueBytes / 2);
    await vault.write({ name: `${name}-long` }, new Secret(long), signal);
    assert.equal(await read(vault, `${name}-long`), long);
  });

  test(`${kind}: a missing secret is reported, and deleting it is no failure`, async () => {
    const vault = await open();
    const name = createName('gone');
    await assert.rejects(vault.read({ name }, signal), requireFault('not-found'));
    assert.equal(await vault.exists({ name }, signal), false);
    await vault.delete(name, signal);
    await vault.write({ name }, new Secret('x'), signal);
    assert.equal(await vault.exists({ name }, signal), true);
    assert.equal(await vault.exists({ name, key: 'k' }, signal), false);
  });
}
