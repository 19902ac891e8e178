/**
 * Opens a sealed value and writes it to a vault (contract/secret.ts). Error messages never contain the value.
 */
import { createHash } from 'node:crypto';
import type { Receipt, SecretPlace, SecretWriteWork, WorkOf } from '@headgate/contract';
import {
  contentEncryption,
  headerFault,
  membersOfType,
  missingMembers,
  receiptType,
  Secret,
} from '@headgate/contract/without-schemas';
import { CompactSign, compactDecrypt, decodeProtectedHeader } from 'jose';
import type { AgentKey, Certificates } from '../certificates/certificates.ts';
import type { TakenValues } from '../secrets/taken-values.ts';
import type { Outcome } from '../session/outbox.ts';
import { findNamedVault } from '../vaults/named-vault.ts';
import type { Vaults } from '../vaults/registry.ts';
import type { WrittenSecret } from '../vaults/vault.ts';
import type { Handler, WorkContext } from './handler.ts';

export interface SecretWriteDependencies {
  certificates: Pick<Certificates, 'findKey'>;
  takenValues: TakenValues;
  vaults: Vaults;
  now?: () => Date;
}

const keyManagement = { ec: ['ECDH-ES', 'ECDH-ES+A256KW'], rsa: ['RSA-OAEP-256'] };
const receiptAlgorithm = { ec: 'ES256', rsa: 'PS256' };

/** A refused value ends the work as FAILED with `valueFault`. Any other failure is thrown. */
export function createSecretWriteHandler(dependencies: SecretWriteDependencies): Handler<'secret-write'> {
  const { certificates, takenValues, vaults } = dependencies;
  const now = dependencies.now ?? (() => new Date());
  return async (work, context): Promise<Outcome> => {
    try {
      return await write(work, context);
    } catch (error) {
      if (!(error instanceof RefusedValue)) throw error;
      return { status: 'FAILED', message: error.message, valueFault: error.fault };
    }
  };

  async function write({ workId, payload }: WorkOf<'secret-write'>, { kill }: WorkContext): Promise<Outcome> {
    const { keyId, sealedValue, ...place } = payload;
    const key = certificates.findKey(keyId);
    if (key === undefined)
      throw new Error(
        'this instance does not have the key that the value is sealed for: seal the value again with the current certificate.',
      );
    const { jti, exp } = readHeader(payload, key, now());
    const vault = findNamedVault(vaults, place);
    const value = await openValue(sealedValue, key, place);
    const sha256 = createHash('sha256').update(sealedValue).digest('base64url');
    const taken = { workId, sha256, until: exp * 1_000 };
    const taking = await takenValues.take(jti, taken);
    if (taking.state === 'written') return { status: 'SUCCESS', receipt: taking.receipt };
    if (taking.state === 'other work')
      throw new Error(
        'the sealed value was already used, and each is written only once: seal the value again.',
      );
    // `reportStarted` is not needed: repeating the work writes the same value to the same place.
    const written = await vault.write({ name: place.name, key: place.key }, value, kill);
    const receipt = await signReceipt(key, { place, jti, sha256, written, now: now() });
    await takenValues.recordWritten(jti, { ...taken, receipt });
    return { status: 'SUCCESS', receipt };
  }
}

/** The fault is in the sealed value, not in the vault, so the caller gets 422. */
class RefusedValue extends Error {
  readonly fault: string;

  constructor(fault: string) {
    super(`the sealed value is refused: ${fault}.`);
    this.name = 'RefusedValue';
    this.fault = fault;
  }
}

function readHeader(
  { keyId, sealedValue, ...place }: SecretWriteWork,
  key: AgentKey,
  now: Date,
): { jti: string; exp: number } {
  let header: Record<string, unknown>;
  try {
    header = decodeProtectedHeader(sealedValue) as Record<string, unknown>;
  } catch {
    throw new RefusedValue('its protected header cannot be read');
  }
  const fault =
    header.kid === keyId
      ? headerFault(header, { agent: key.agentId, place, now })
      : 'it is sealed for another key';
  if (fault !== undefined) throw new RefusedValue(fault);
  return { jti: String(header.jti), exp: Number(header.exp) };
}

/** The text to store in the vault: a password as it is, other types as the JSON of their members. */
async function openValue(sealed: string, key: AgentKey, { type }: SecretPlace): Promise<Secret> {
  const opened = await compactDecrypt(sealed, key.privateKey, {
    keyManagementAlgorithms: keyManagement[key.keyType],
    contentEncryptionAlgorithms: [contentEncryption],
  }).catch(() => undefined);
  if (opened === undefined) throw new RefusedValue('it was cut or changed, or is sealed for another key');
  const value = parseMembers(opened.plaintext);
  if (value === undefined) throw new RefusedValue('its content is not a JSON object of texts');
  const missing = missingMembers(type, value);
  if (missing !== undefined) throw new RefusedValue(`it lacks ${missing.join(', ')} of the type ${type}`);
  const members = membersOfType(type, value);
  return new Secret(type === 'PASSWORD' ? (members.password ?? '') : JSON.stringify(members));
}

function parseMembers(plaintext: Uint8Array): Record<string, string> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(plaintext));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isObject || !Object.values(value).every((member) => typeof member === 'string')) return undefined;
    return value as Record<string, string>;
  } catch {
    return undefined;
  }
}

function signReceipt(
  key: AgentKey,
  about: { place: SecretPlace; jti: string; sha256: string; written: WrittenSecret; now: Date },
): Promise<string> {
  const { resolverRef, vaultSecretName } = about.written;
  const receipt: Receipt = {
    agent: key.agentId,
    jti: about.jti,
    ...about.place,
    sha256: about.sha256,
    resolverRef,
    vaultSecretName,
    iat: Math.floor(about.now.getTime() / 1_000),
  };
  return new CompactSign(new TextEncoder().encode(JSON.stringify(receipt)))
    .setProtectedHeader({ alg: receiptAlgorithm[key.keyType], typ: receiptType, kid: key.kid })
    .sign(key.privateKey);
}
