/** Tokens of a key pair, as Snowflake's documentation of key-pair authentication describes them. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import type { SnowflakeAccess } from './snowflake-access.ts';

/** Snowflake refuses tokens of more than an hour. */
const tokenSeconds = 300;
/** A passphrase is made slow on purpose, as slow as the key's file says. */
const unlockMilliseconds = 10_000;
const keyLimit = 65_536;

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** @param now milliseconds since 1970, of the server's clock. @throws Error that says what is wrong with the key */
export async function createToken(access: SnowflakeAccess, now: number): Promise<string> {
  const key = await readKey(access);
  const login = `${access.account}.${access.username.toUpperCase()}`;
  const seconds = Math.floor(now / 1_000);
  const claims = {
    iss: `${login}.${describeKey(key)}`,
    sub: login,
    iat: seconds,
    exp: seconds + tokenSeconds,
  };
  const signed = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`;
}

/** As DESC USER shows it. */
function describeKey(key: KeyObject): string {
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return `SHA256:${createHash('sha256').update(publicKey).digest('base64')}`;
}

async function readKey({ name, privateKey, passphrase, credential }: SnowflakeAccess): Promise<KeyObject> {
  // Vaults may keep a file in one line.
  const pem = privateKey.reveal().trim().replaceAll('\\n', '\n');
  const secret = `the secret "${credential.privateKey}" of the connection "${name}"`;
  if (pem.length > keyLimit || !pem.startsWith('-----BEGIN '))
    throw new Error(`${secret} is not a private key: store the whole file, which begins with -----BEGIN`);
  const isEncrypted = pem.includes('ENCRYPTED');
  if (isEncrypted && passphrase === undefined)
    throw new Error(
      `${secret} is encrypted: set "${credential.passphrase}" to a reference to its passphrase`,
    );
  const key = await (isEncrypted
    ? unlockKey(pem, passphrase?.reveal() ?? '').then(createPrivateKey)
    : (async () => createPrivateKey(pem))()
  ).catch((failure: Error) => {
    const remedy = isEncrypted ? `correct it or the secret "${credential.passphrase}"` : 'store it again';
    throw new Error(`${secret} cannot be read (${failure.message}): ${remedy}`);
  });
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== 'rsa' || bits < 2_048)
    throw new Error(`${secret} is not an RSA key of 2048 bits or more: make one by openssl genrsa 2048`);
  return key;
}

const unlocking = `const { parentPort, workerData } = require('node:worker_threads');
const { createPrivateKey } = require('node:crypto');
try { parentPort.postMessage({ pem: createPrivateKey(workerData).export({ type: 'pkcs8', format: 'pem' }) }); }
catch (error) { parentPort.postMessage({ fault: error.message }); }`;

/** In a thread, because the file says how long it takes. */
async function unlockKey(key: string, passphrase: string): Promise<string> {
  const worker = new Worker(unlocking, { eval: true, workerData: { key, passphrase }, env: {} });
  const result = Promise.withResolvers<string>();
  const late = setTimeout(
    () => result.reject(new Error(`its passphrase takes more than ${unlockMilliseconds / 1_000} s`)),
    unlockMilliseconds,
  );
  worker.once('message', ({ pem, fault }: { pem?: string; fault?: string }) => {
    if (pem === undefined) result.reject(new Error(fault));
    else result.resolve(pem);
  });
  worker.once('error', result.reject);
  try {
    return await result.promise;
  } finally {
    clearTimeout(late);
    await worker.terminate();
  }
}
