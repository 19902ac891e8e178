/** HashiCorp Vault and OpenBao: the KV secrets engine, version 2, over HTTP. */
import { Secret } from '@headgate/contract/without-schemas';
import { formatAddress } from './keyed-secret.ts';
import { type Vault, VaultError, type VaultFault, vaultCallMilliseconds } from './vault.ts';

export interface HashicorpVaultOptions {
  name: string;
  /** Such as `https://vault.example.com:8200`. */
  address: string;
  mount: string;
  namespace?: string | undefined;
  prefix: string;
  token: Secret | undefined;
}

type Members = Record<string, unknown>;
interface SecretVersion {
  /** Undefined if the latest version was deleted. */
  members: Members | undefined;
  version: number;
}

/** The key of a secret that is written without a key. */
const onlyKey = 'value';
/** Attempts of a write, when other clients change the same secret at the same time. */
const attempts = 5;
const answerLimit = 1_048_576;

export function createHashicorpVault(options: HashicorpVaultOptions): Vault {
  const { name: vaultName, address, mount, namespace, prefix, token } = options;

  async function call(
    method: string,
    kind: 'data' | 'metadata',
    name: string,
    signal: AbortSignal,
    body?: object,
  ): Promise<{ status: number; answer: Answer }> {
    if (token === undefined) throw new VaultError('denied', vaultName, 'no token is set');
    const path = [...mount.split('/'), kind, ...(prefix + name).split('/')].map(encodeURIComponent);
    try {
      const response = await fetch(`${address}/v1/${path.join('/')}`, {
        method,
        headers: {
          'x-vault-token': token.reveal(),
          'x-vault-request': 'true',
          ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(vaultCallMilliseconds)]),
      });
      return { status: response.status, answer: await readAnswer(response) };
    } catch (error) {
      const isLate = error instanceof Error && /^(TimeoutError|AbortError)$/.test(error.name);
      throw new VaultError(isLate ? 'timeout' : 'unavailable', vaultName);
    }
  }

  async function find(name: string, signal: AbortSignal): Promise<SecretVersion> {
    const { status, answer } = await call('GET', 'data', name, signal);
    if (status !== 200 && status !== 404) throw createVaultError(status, vaultName);
    const { data, metadata } = answer.data ?? {};
    return { members: status === 200 ? (data ?? undefined) : undefined, version: metadata?.version ?? 0 };
  }

  async function readValueAt(at: { name: string; key?: string | undefined }, signal: AbortSignal) {
    const { members = {} } = await find(at.name, signal);
    const key = at.key ?? onlyKey;
    const value = Object.hasOwn(members, key) ? members[key] : undefined;
    // A secret with several values from other clients is read as a JSON object.
    if (value === undefined && at.key === undefined && Object.keys(members).length > 0)
      return new Secret(JSON.stringify(members));
    if (value === undefined || value === null) return undefined;
    return new Secret(typeof value === 'string' ? value : JSON.stringify(value));
  }

  /** Returns false if another client wrote a version in between. */
  async function put(name: string, members: Members, cas: number | undefined, signal: AbortSignal) {
    const body = { data: members, ...(cas === undefined ? {} : { options: { cas } }) };
    const { status, answer } = await call('POST', 'data', name, signal, body);
    if (status === 200 || status === 204) return true;
    if (status === 400 && cas !== undefined && /check-and-set/.test(JSON.stringify(answer.errors ?? '')))
      return false;
    throw createVaultError(status, vaultName);
  }

  async function putKey(name: string, key: string, value: Secret, signal: AbortSignal): Promise<void> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const { members = {}, version } = await find(name, signal);
      const entries = Object.entries(members).filter(([other]) => other !== key);
      const merged = Object.fromEntries([...entries, [key, value.reveal()]]);
      if (await put(name, merged, version, signal)) return;
    }
    throw new VaultError('changed', vaultName);
  }

  return {
    async write({ name, key }, value, signal) {
      if (key === undefined) await put(name, { [onlyKey]: value.reveal() }, undefined, signal);
      else await putKey(name, key, value, signal);
      return {
        resolverRef: `hashicorp-vault://${mount}/${formatAddress(prefix + name, key ?? onlyKey)}`,
        vaultSecretName: prefix + name,
      };
    },
    async read(at, signal) {
      const found = await readValueAt(at, signal);
      if (found === undefined) throw new VaultError('not-found', vaultName);
      return found;
    },
    exists: async (at, signal) => (await readValueAt(at, signal)) !== undefined,
    async delete(name, signal) {
      const { status } = await call('DELETE', 'metadata', name, signal);
      if (status !== 204 && status !== 200 && status !== 404) throw createVaultError(status, vaultName);
    },
  };
}

interface Answer {
  data?: { data?: Members | null; metadata?: { version?: number } };
  errors?: unknown;
}

async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  if (text === '' || text.length > answerLimit) return {};
  try {
    return JSON.parse(text) as Answer;
  } catch {
    return {};
  }
}

function createVaultError(status: number, vaultName: string): VaultError {
  const known: Readonly<Record<number, VaultFault>> = {
    400: 'invalid',
    401: 'denied',
    403: 'denied',
    404: 'not-found',
    405: 'invalid',
    429: 'throttled',
  };
  const hint = status === 503 ? '503: it may be sealed' : String(status);
  return new VaultError(known[status] ?? 'unavailable', vaultName, hint);
}
