/** The provider of a reference, and the secret that it stands for. Pure. */
import {
  awsVaultTypes,
  azureVaultTypes,
  gcpVaultTypes,
  plainVaultTypes,
  type SecretCoordinates,
  type SecretProvider,
  type SecretReference,
} from '@headgate/contract';

const vaultsOf: Record<SecretProvider, readonly string[]> = {
  AWS: awsVaultTypes,
  AZURE: azureVaultTypes,
  GCP: gcpVaultTypes,
  HEADGATE: plainVaultTypes,
};

/** The provider in the request, else that of the vault. */
export function findProvider({
  provider,
  vaultType,
}: Pick<SecretReference, 'provider' | 'vaultType'>): SecretProvider | undefined {
  if (provider !== undefined || vaultType === undefined) return provider;
  return (Object.keys(vaultsOf) as SecretProvider[]).find((each) => vaultsOf[each].includes(vaultType));
}

type Members = 'provider' | 'vaultType' | 'vaultName' | 'secretKey';
type Kept = Pick<SecretReference, 'secretName'> & {
  [Member in Members]: NonNullable<SecretReference[Member]> | null;
};

/** What an agent gets of a reference. The default vault is the agent's first one, of any provider. */
export function buildCoordinates({
  secretName,
  secretKey,
  vaultName,
  vaultType,
  provider,
}: Kept): SecretCoordinates {
  const vault = vaultType === null || vaultType === 'DEFAULT_SECRET_VAULT' ? {} : { vaultType };
  const named = findProvider({ ...vault, ...(provider === null ? {} : { provider }) });
  return {
    secretName,
    ...(secretKey ? { secretKey } : {}),
    ...(vaultName === null ? {} : { vaultName }),
    ...(named === undefined ? {} : { provider: named }),
  };
}
