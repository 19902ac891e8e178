/** Which provider a reference counts as, pure. */
import {
  awsVaultTypes,
  azureVaultTypes,
  gcpVaultTypes,
  plainVaultTypes,
  type SecretProvider,
  type SecretReference,
} from '@headgate/contract';

const vaultsOf: Record<SecretProvider, readonly string[]> = {
  AWS: awsVaultTypes,
  AZURE: azureVaultTypes,
  GCP: gcpVaultTypes,
  HEADGATE: plainVaultTypes,
};

/** The provider that was given, else that of the vault. */
export function providerOf({
  provider,
  vaultType,
}: Pick<SecretReference, 'provider' | 'vaultType'>): SecretProvider | undefined {
  if (provider !== undefined || vaultType === undefined) return provider;
  return (Object.keys(vaultsOf) as SecretProvider[]).find((each) => vaultsOf[each].includes(vaultType));
}
