/** Creates the instance's key pair and the request for its certificate (PKCS#10, RFC 2986). */
import { createPrivateKey, type KeyObject, webcrypto } from 'node:crypto';

export type KeyType = 'ec' | 'rsa';

const rsaBits = 3_072;
const algorithms = {
  ec: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  rsa: {
    name: 'RSASSA-PKCS1-v1_5',
    modulusLength: rsaBits,
    publicExponent: Uint8Array.of(1, 0, 1),
    hash: 'SHA-256',
  },
} as const;

/** A new private key in PEM (PKCS#8). */
export async function makePrivateKey(type: KeyType): Promise<string> {
  const { privateKey } = await webcrypto.subtle.generateKey(algorithms[type], true, ['sign', 'verify']);
  const bytes = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', privateKey));
  return String(
    createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' }).export({ format: 'pem', type: 'pkcs8' }),
  );
}

export function getKeyType(key: KeyObject): KeyType {
  return key.asymmetricKeyType === 'rsa' ? 'rsa' : 'ec';
}

/** A request in PEM, signed by the key. The library is rarely needed, so it is loaded on demand. */
export async function requestCertificate(privateKey: string, commonName: string): Promise<string> {
  await import('reflect-metadata');
  const { Pkcs10CertificateRequestGenerator } = await import('@peculiar/x509');
  const key = createPrivateKey(privateKey);
  const algorithm = algorithms[getKeyType(key)];
  const pkcs8 = key.export({ format: 'der', type: 'pkcs8' });
  const { d: _, p, q, dp, dq, qi, ...publicJwk } = key.export({ format: 'jwk' });
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [commonName] }],
    keys: {
      privateKey: await webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']),
      publicKey: await webcrypto.subtle.importKey('jwk', publicJwk, algorithm, true, ['verify']),
    },
    signingAlgorithm: algorithm,
  });
  return request.toString('pem');
}
