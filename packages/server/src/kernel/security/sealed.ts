/**
 * Secrets of the server.
 *
 * Terminology
 *   secret      a plain text in memory, in a type that cannot be printed, serialized or compared by accident
 *   sealed      a secret encrypted with the master key (AES-256-GCM) and bound to its purpose; stored in tables
 *   digest      a keyed hash (HMAC-SHA-256) of a value that is only compared: a client secret, an idempotency key
 *   master key  32 bytes from HEADGATE_MASTER_KEY, or from a 0600 file in the data directory. Two keys are
 *               derived from it (RFC 5869)
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { existsSync } from 'node:fs';
import { Secret } from '@headgate/contract';
import { readOrMakeFile } from './durable-file.ts';

export { Secret };

export interface Sealer {
  seal(secret: Secret, purpose: string): Buffer;
  /** Throws if the value is incomplete, or was sealed with another key or for another purpose. */
  unseal(sealed: Buffer, purpose: string): Secret;
  /** A list counts as the whole of its pieces. */
  digest(text: string | readonly Buffer[], purpose: string): Buffer;
  matches(text: string, purpose: string, digest: Buffer): boolean;
}

const version = 1;
const ivBytes = 12;
const tagBytes = 16;

export function createSealer(masterKey: Buffer): Sealer {
  if (masterKey.length !== 32) throw new Error('The master key must be 32 bytes.');
  const sealingKey = Buffer.from(hkdfSync('sha256', masterKey, '', 'headgate sealing 1', 32));
  // A key object: converting plain bytes for each digest would cost four times the digest.
  const digestKey = createSecretKey(Buffer.from(hkdfSync('sha256', masterKey, '', 'headgate digests 1', 32)));

  function digest(text: string | readonly Buffer[], purpose: string): Buffer {
    const hmac = createHmac('sha256', digestKey).update(purpose).update('\0');
    for (const piece of typeof text === 'string' ? [text] : text) hmac.update(piece);
    return hmac.digest();
  }

  return {
    seal(secret, purpose) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', sealingKey, iv);
      cipher.setAAD(Buffer.from(purpose));
      const body = Buffer.concat([cipher.update(secret.reveal(), 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(version), iv, cipher.getAuthTag(), body]);
    },
    unseal(sealed, purpose) {
      if (sealed[0] !== version || sealed.length < 1 + ivBytes + tagBytes) {
        throw new Error(`The sealed value for ${purpose} is incomplete.`);
      }
      const decipher = createDecipheriv('aes-256-gcm', sealingKey, sealed.subarray(1, 1 + ivBytes));
      decipher.setAAD(Buffer.from(purpose));
      decipher.setAuthTag(sealed.subarray(1 + ivBytes, 1 + ivBytes + tagBytes));
      try {
        const body = decipher.update(sealed.subarray(1 + ivBytes + tagBytes));
        return new Secret(Buffer.concat([body, decipher.final()]).toString('utf8'));
      } catch {
        throw new Error(
          `The sealed value for ${purpose} cannot be decrypted with this master key. Was HEADGATE_MASTER_KEY changed?`,
        );
      }
    },
    digest,
    matches(text, purpose, expected) {
      const found = digest(text, purpose);
      return found.length === expected.length && timingSafeEqual(found, expected);
    },
  };
}

/**
 * Returns the master key: `given` (32 bytes in base64 or hexadecimal), or the file's, which is created at the
 * first start.
 */
export function loadMasterKey(input: Secret | undefined, file: string): Buffer {
  if (input !== undefined) return parseMasterKey(input);
  const key = readOrMakeFile(file, () => randomBytes(32).toString('base64'));
  try {
    return parseMasterKey(new Secret(key));
  } catch {
    throw new Error(
      `${file} does not contain a valid master key. ` +
        'Restore it from a backup: without it, stored secrets cannot be read.',
    );
  }
}

/** The master key of an existing installation. Never creates one. */
export function findMasterKey(input: Secret | undefined, file: string): Buffer | undefined {
  return input === undefined && !existsSync(file) ? undefined : loadMasterKey(input, file);
}

export function parseMasterKey(input: Secret): Buffer {
  const text = input.reveal();
  const key = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64');
  if (key.length !== 32) throw new Error('HEADGATE_MASTER_KEY must be 32 bytes, in base64 or hexadecimal.');
  return key;
}

/** Generates a secret: 32 bytes, URL-safe. */
export function generateSecret(): Secret {
  return new Secret(randomBytes(32).toString('base64url'));
}
