/** The vaults of an agent, by name. The first is the default. */
import type { SecretPlace } from '@headgate/contract';
import { createAwsVault } from './aws-secrets-manager.ts';
import { createAzureVault } from './azure-key-vault.ts';
import { createFileVault } from './file.ts';
import { createGoogleVault } from './google-secret-manager.ts';
import { createHashicorpVault } from './hashicorp-vault.ts';
import type { VaultSettings } from './settings.ts';
import { providerOf, type Vault, type VaultKind } from './vault.ts';

type Settings<Kind extends VaultKind> = Extract<VaultSettings, { kind: Kind }>;
type Factories = { [Kind in VaultKind]: (settings: Settings<Kind>, folder: string) => Vault };

const factories: Factories = {
  file: ({ name, key }, folder) => createFileVault({ name, folder, key }),
  'aws-secrets-manager': (settings) => createAwsVault(settings),
  'azure-key-vault': (settings) => createAzureVault(settings),
  'google-secret-manager': (settings) => createGoogleVault(settings),
  'hashicorp-vault': (settings) => createHashicorpVault(settings),
};

export interface Vaults {
  /**
   * The vault with the given name and provider, or the first if neither is given; undefined if there is none.
   */
  find(place: Pick<SecretPlace, 'vaultName' | 'provider'>): Vault | undefined;
}

export function createVaults(settings: readonly VaultSettings[], folder: string): Vaults {
  const made = settings.map((each) => {
    // The factory is looked up by the kind of the settings, so the types match.
    const create = factories[each.kind] as (input: VaultSettings, folder: string) => Vault;
    return { name: each.name, provider: providerOf[each.kind], vault: create(each, folder) };
  });
  return {
    find: ({ vaultName, provider }) =>
      made.find(
        (each) =>
          (vaultName === undefined || each.name === vaultName) &&
          (provider === undefined || each.provider === provider),
      )?.vault,
  };
}
