/**
 * Seals values for an agent's certificate, and checks values that callers have sealed. Formats:
 * contract/secret.ts.
 */
import { createHash, X509Certificate } from 'node:crypto';
import {
  headerFault,
  type Receipt,
  receiptType,
  type SealedHeader,
  type SecretPlace,
  sealedHeader,
  sealingAlgorithmsOf,
} from '@headgate/contract';
import { CompactEncrypt, compactVerify } from 'jose';
import { problem } from '../../kernel/http/problems.ts';
import type { KeyType } from '../../kernel/security/certificate-authority.ts';
import type { Secret } from '../../kernel/security/sealed.ts';
import { findKeyFault, readSealedForm } from './sealed-form.ts';

const receiptAlgorithm: Record<KeyType, string> = { EC: 'ES256', RSA: 'PS256' };

export interface SealingKey {
  keyId: string;
  keyType: KeyType;
  /** PEM. */
  certificate: string;
}

export interface Sealed {
  jwe: string;
  jti: string;
  expiresAt: Date;
}

export async function sealValue(
  value: Secret,
  key: SealingKey,
  about: { agentId: string; place: SecretPlace; jti: string; now: Date },
): Promise<Sealed> {
  const { agentId: agent, place, jti, now } = about;
  const header = sealedHeader({ kid: key.keyId, keyType: key.keyType }, { agent, place, jti, now });
  const jwe = await new CompactEncrypt(new TextEncoder().encode(value.reveal()))
    .setProtectedHeader({ ...header })
    .encrypt(new X509Certificate(key.certificate).publicKey);
  return { jwe, jti, expiresAt: new Date(header.exp * 1_000) };
}

/** Checks a value sealed by the caller, as far as possible without the key. Throws `sealed-value-refused`. */
export function checkSealedValue(
  jwe: string,
  expected: { agentId: string; place: SecretPlace; now: Date; keys: readonly SealingKey[] },
): Sealed & { keyId: string } {
  const refused = (reason: string) => problem('sealed-value-refused', { reason });
  const form = readSealedForm(jwe);
  if ('fault' in form) throw refused(form.fault);
  const { header } = form;
  const { agentId: agent, place, now } = expected;
  const fault = headerFault(header, { agent, place, now });
  if (fault !== undefined) throw refused(fault);
  const key = expected.keys.find(({ keyId }) => keyId === header.kid);
  if (key === undefined) throw refused('its `kid` is not the certificate of a connected instance');
  if (!sealingAlgorithmsOf[key.keyType].some((name) => name === header.alg))
    throw refused(
      `its \`alg\` does not fit the certificate’s key: ${sealingAlgorithmsOf[key.keyType].join(', ')}`,
    );
  const unfit = findKeyFault(form, key.certificate);
  if (unfit !== undefined) throw refused(unfit);
  const { jti, exp } = header as SealedHeader;
  return { jwe, jti, expiresAt: new Date(exp * 1_000), keyId: key.keyId };
}

export function digestSealedValue(jwe: string): string {
  return createHash('sha256').update(jwe).digest('base64url');
}

/**
 * Returns the receipt of a write if it is signed by the key that opened the value and is about that value.
 */
export async function verifyReceipt(
  receipt: string,
  key: SealingKey,
  about: { agentId: string; jti: string; sha256: string; place: SecretPlace },
): Promise<Receipt | undefined> {
  const { publicKey } = new X509Certificate(key.certificate);
  const checked = await compactVerify(receipt, publicKey, {
    algorithms: [receiptAlgorithm[key.keyType]],
  }).catch(() => undefined);
  if (checked?.protectedHeader.typ !== receiptType || checked.protectedHeader.kid !== key.keyId)
    return undefined;
  const claims = JSON.parse(new TextDecoder().decode(checked.payload)) as Receipt;
  const { place } = about;
  const isAbout =
    claims.agent === about.agentId &&
    claims.jti === about.jti &&
    claims.sha256 === about.sha256 &&
    (['name', 'key', 'type', 'vaultName', 'provider'] as const).every((name) => claims[name] === place[name]);
  return isAbout && typeof claims.resolverRef === 'string' && typeof claims.vaultSecretName === 'string'
    ? claims
    : undefined;
}
