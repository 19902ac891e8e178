/** The built-in vault: secrets in one encrypted file (AES-256-GCM). For agents with a single instance. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Secret } from '@headgate/contract/without-schemas';
import { makePrivateFolder } from '../host/folders.ts';
import { readOrMakePrivateFile, readPrivateFile, writePrivateFile } from '../host/private-file.ts';
import { formatAddress, getValueUnder, setKey } from './keyed-secret.ts';
import { type Vault, VaultError } from './vault.ts';

const version = 1;
const ivBytes = 12;
const tagBytes = 16;

export interface FileVaultOptions {
  name: string;
  folder: string;
  /** 32 bytes in base64 or hexadecimal. Without it, a key is created beside the vault at first use. */
  key: Secret | undefined;
}

export function createFileVault({ name: vaultName, folder, key: givenKey }: FileVaultOptions): Vault {
  const path = join(folder, `${vaultName}.vault`);
  const aad = Buffer.from(`headgate file vault ${version} ${vaultName}`);
  let last: Promise<unknown> = Promise.resolve();
  let loadedKey: Promise<Buffer> | undefined;

  async function loadKey(): Promise<Buffer> {
    const keyFile = join(await makePrivateFolder(folder), `${vaultName}.key`);
    const text =
      givenKey?.reveal() ?? (await readOrMakePrivateFile(keyFile, () => randomBytes(32).toString('base64')));
    const key = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64');
    if (key.length !== 32) throw new VaultError('denied', vaultName, 'its key is not 32 bytes');
    return key;
  }

  function key(): Promise<Buffer> {
    loadedKey ??= loadKey();
    return loadedKey;
  }

  async function load(): Promise<Record<string, string>> {
    const sealed = await readPrivateFile(path);
    if (sealed === undefined) return {};
    try {
      if (sealed[0] !== version) throw new Error('another version');
      const decipher = createDecipheriv('aes-256-gcm', await key(), sealed.subarray(1, 1 + ivBytes));
      decipher.setAAD(aad);
      decipher.setAuthTag(sealed.subarray(1 + ivBytes, 1 + ivBytes + tagBytes));
      const body = decipher.update(sealed.subarray(1 + ivBytes + tagBytes));
      return JSON.parse(Buffer.concat([body, decipher.final()]).toString('utf8'));
    } catch (error) {
      if (error instanceof VaultError) throw error;
      throw new VaultError('denied', vaultName, 'its file is damaged or was encrypted with another key');
    }
  }

  async function save(secrets: Record<string, string>): Promise<void> {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', await key(), iv);
    cipher.setAAD(aad);
    const body = Buffer.concat([cipher.update(JSON.stringify(secrets), 'utf8'), cipher.final()]);
    await writePrivateFile(path, Buffer.concat([Buffer.of(version), iv, cipher.getAuthTag(), body]));
  }

  /** Runs operations one at a time, so that each reads the result of the previous one. */
  function runAlone<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  }

  async function find(name: string, secretKey: string | undefined): Promise<Secret | undefined> {
    const secrets = await runAlone(load);
    const text = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
    if (text === undefined) return undefined;
    const secret = new Secret(text);
    return secretKey === undefined ? secret : getValueUnder(secret, secretKey);
  }

  return {
    write: ({ name, key: secretKey }, value) =>
      runAlone(async () => {
        const secrets = await load();
        const before = Object.hasOwn(secrets, name) ? new Secret(secrets[name] ?? '') : undefined;
        const text = secretKey === undefined ? value : setKey(before, secretKey, value);
        if (text === undefined) throw new VaultError('not-keyed', vaultName);
        await save(Object.fromEntries([...Object.entries(secrets), [name, text.reveal()]]));
        const resolverRef = `headgate-file://${vaultName}/${formatAddress(name, secretKey)}`;
        return { resolverRef, vaultSecretName: name };
      }),
    async read({ name, key: secretKey }) {
      const found = await find(name, secretKey);
      if (found === undefined) throw new VaultError('not-found', vaultName);
      return found;
    },
    exists: async ({ name, key: secretKey }) => (await find(name, secretKey)) !== undefined,
    delete: (name) =>
      runAlone(async () => {
        const secrets = await load();
        if (!Object.hasOwn(secrets, name)) return;
        await save(Object.fromEntries(Object.entries(secrets).filter(([other]) => other !== name)));
      }),
  };
}
