/** Finds the vault named by a place. */
import type { SecretCoordinates, SecretPlace } from '@headgate/contract';
import type { Vaults } from './registry.ts';
import type { Vault } from './vault.ts';

type Named = Pick<SecretPlace | SecretCoordinates, 'vaultName' | 'provider'>;

/** @throws Error that names the missing vault. */
export function findNamedVault(vaults: Vaults, place: Named): Vault {
  const vault = vaults.find(place);
  if (vault === undefined)
    throw new Error(
      `this agent has no vault ${describe(place)}: add it to HEADGATE_AGENT_VAULTS, or name another vault.`,
    );
  return vault;
}

function describe({ vaultName, provider }: Named): string {
  const named = vaultName === undefined ? [] : [`named ${JSON.stringify(vaultName)}`];
  return [...named, ...(provider === undefined ? [] : [`of the provider ${provider}`])].join(' ');
}
