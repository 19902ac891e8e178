/**
 * Checks the form of a compact JWE (RFC 7516 §7.1) as far as possible without the key: five parts in
 * base64url, whose lengths follow from the algorithms. The agent checks the rest when it opens the value.
 */
import { createPublicKey, X509Certificate } from 'node:crypto';
import { sealedLimit } from '@headgate/contract';

/** AES-GCM with a 96-bit nonce and a 128-bit tag (RFC 7518 §5.3); AES key wrap of a 256-bit key (§4.4). */
const nonceBytes = 12;
const tagBytes = 16;
const wrappedKeyBytes = 40;
const partNames = [
  'protected header',
  'encrypted key',
  'initialization vector',
  'ciphertext',
  'authentication tag',
] as const;

export interface SealedForm {
  header: Readonly<Record<string, unknown>>;
  encryptedKeyBytes: number;
}

/** Returns the readable parts of the value, or why it is not a compact JWE. */
export function readSealedForm(jwe: string): SealedForm | { fault: string } {
  if (jwe.length > sealedLimit)
    return { fault: `it has ${jwe.length} characters; the limit is ${sealedLimit}` };
  const parts = jwe.split('.');
  if (parts.length !== 5)
    return { fault: `it is not a compact JWE: it has ${parts.length} parts separated by dots instead of 5` };
  const bytes: Buffer[] = [];
  for (const [index, part] of parts.entries()) {
    const decoded = decodeBase64url(part);
    if (decoded === undefined)
      return { fault: `its ${partNames[index]} is not base64url without padding, or is truncated` };
    bytes.push(decoded);
  }
  const [head, key, nonce, text, tag] = bytes as [Buffer, Buffer, Buffer, Buffer, Buffer];
  const header = parseHeader(head);
  if (header === undefined) return { fault: 'its protected header is not a JSON object' };
  if (nonce.length !== nonceBytes)
    return { fault: `its initialization vector has ${nonce.length} bytes instead of ${nonceBytes}` };
  if (tag.length !== tagBytes)
    return {
      fault: `its authentication tag has ${tag.length} bytes instead of ${tagBytes}; it may be truncated`,
    };
  if (text.length === 0) return { fault: 'its ciphertext is empty' };
  return { header, encryptedKeyBytes: key.length };
}

/** Why the encrypted key or the ephemeral public key does not fit the certificate; undefined if both fit. */
export function findKeyFault(
  { header, encryptedKeyBytes }: SealedForm,
  certificate: string,
): string | undefined {
  const { publicKey } = new X509Certificate(certificate);
  const expected = computeKeyLength(header.alg, publicKey.asymmetricKeyDetails?.modulusLength ?? 0);
  if (encryptedKeyBytes !== expected)
    return `its encrypted key has ${encryptedKeyBytes} bytes; ${String(header.alg)} needs ${expected} for this certificate`;
  const curve = publicKey.asymmetricKeyDetails?.namedCurve;
  if (curve !== undefined && readCurve(header.epk) !== curve)
    return 'its `epk` is not a public key on the curve of the certificate’s key';
  return undefined;
}

function computeKeyLength(algorithm: unknown, modulusBits: number): number {
  if (algorithm === 'ECDH-ES') return 0;
  return algorithm === 'ECDH-ES+A256KW' ? wrappedKeyBytes : modulusBits / 8;
}

/** Undefined for text that other decoders would read differently or refuse. */
function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

function parseHeader(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    const header: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    const isObject = typeof header === 'object' && header !== null && !Array.isArray(header);
    return isObject ? (header as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function readCurve(epk: unknown): string | undefined {
  try {
    const { kty, crv, x, y } = epk as { kty: string; crv: string; x: string; y: string };
    return createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' }).asymmetricKeyDetails?.namedCurve;
  } catch {
    return undefined;
  }
}
