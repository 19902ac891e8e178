/** A vault on a store of texts. A secret with keys is stored as a JSON object (keyed-secret.ts). */
import { Secret } from '@headgate/contract/without-schemas';
import { formatAddress, getValueUnder, setKey } from './keyed-secret.ts';
import { type SecretAddress, type Vault, VaultError } from './vault.ts';

/** All calls throw VaultError. */
interface TextStore {
  /** Prefix of all secret names. The calls below get the full name. */
  prefix: string;
  /** Limit of a value, as bytes of UTF-8. */
  valueBytes: number;
  /** Throws `not-found`. */
  read(name: string, signal: AbortSignal): Promise<string>;
  /** Creates or replaces a secret. Returns its address. */
  put(name: string, text: Secret, signal: AbortSignal): Promise<string>;
  /** May throw `not-found`. */
  remove(name: string, signal: AbortSignal): Promise<unknown>;
}

export function createTextVault(vaultName: string, store: TextStore): Vault {
  const { prefix } = store;

  const readSecretNamed = async (name: string, signal: AbortSignal): Promise<Secret | undefined> => {
    const text = await store.read(prefix + name, signal).catch(ignoreNotFound);
    return text === undefined ? undefined : new Secret(text);
  };

  async function find({ name, key }: SecretAddress, signal: AbortSignal): Promise<Secret | undefined> {
    const secret = await readSecretNamed(name, signal);
    return key === undefined || secret === undefined ? secret : getValueUnder(secret, key);
  }

  return {
    async write({ name, key }, value, signal) {
      const text = key === undefined ? value : setKey(await readSecretNamed(name, signal), key, value);
      if (text === undefined) throw new VaultError('not-keyed', vaultName);
      if (Buffer.byteLength(text.reveal()) > store.valueBytes)
        throw new VaultError('invalid', vaultName, `the limit of a secret is ${store.valueBytes} bytes`);
      const place = await store.put(prefix + name, text, signal);
      return { resolverRef: formatAddress(place, key), vaultSecretName: prefix + name };
    },
    async read(at, signal) {
      const found = await find(at, signal);
      if (found === undefined) throw new VaultError('not-found', vaultName);
      return found;
    },
    exists: async (at, signal) => (await find(at, signal)) !== undefined,
    async delete(name, signal) {
      await store.remove(prefix + name, signal).catch(ignoreNotFound);
    },
  };
}

/** For `catch`: treats a missing secret as undefined. */
export function ignoreNotFound(error: unknown): undefined {
  if (error instanceof VaultError && error.fault === 'not-found') return undefined;
  throw error;
}
