/** Verifies an agent's certificate against the authority that the caller trusts. Needs only WebCrypto. */
import 'reflect-metadata';
import { certificateHolder, type SealingKeyType } from '@headgate/contract';
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
} from '@peculiar/x509';

/** The certificate is not accepted, so nothing was sealed. The message gives the reason. */
export class CertificateRefused extends Error {
  override name = 'CertificateRefused';
}

export interface SealingCertificate {
  kid: string;
  keyType: SealingKeyType;
  /** SPKI in PEM. */
  publicKey: string;
}

const usageOf = { EC: KeyUsageFlags.keyAgreement, RSA: KeyUsageFlags.keyEncipherment };

/**
 * @param pem the agent's certificate, as returned by the server
 * @param issuers PEM of one or more authorities that the caller trusts
 * @throws CertificateRefused
 */
export async function verifiedCertificate(
  pem: string,
  { issuers, agentId, now }: { issuers: string; agentId: string; now: Date },
): Promise<SealingCertificate> {
  const certificate = parsed(() => new X509Certificate(pem), 'the certificate');
  const trusted = parsed(
    () => PemConverter.decode(issuers).map((der) => new X509Certificate(der)),
    'the issuer',
  );
  await requireIssuer(certificate, trusted, now);
  requireTime(certificate, now, 'the certificate');
  requireHolder(certificate, agentId);
  const keyType = keyTypeOf(certificate);
  const usages = certificate.getExtension(KeyUsagesExtension)?.usages ?? 0;
  if ((usages & usageOf[keyType]) === 0)
    throw new CertificateRefused(
      'the certificate’s key cannot be used for sealing: request a new certificate.',
    );
  const thumbprint = new Uint8Array(await certificate.getThumbprint('SHA-256'));
  return { kid: base64url(thumbprint), keyType, publicKey: certificate.publicKey.toString('pem') };
}

async function requireIssuer(
  certificate: X509Certificate,
  trusted: readonly X509Certificate[],
  now: Date,
): Promise<void> {
  for (const issuer of trusted) {
    const { publicKey } = issuer;
    if (issuer.subject !== certificate.issuer) continue;
    if (!(await certificate.verify({ publicKey, signatureOnly: true }).catch(() => false))) continue;
    if (issuer.getExtension(BasicConstraintsExtension)?.ca !== true)
      throw new CertificateRefused(
        'the issuer is not a certificate authority: use the certificate of the authority.',
      );
    return requireTime(issuer, now, 'the issuer');
  }
  throw new CertificateRefused(
    'the certificate is not signed by a trusted issuer: check the issuer’s certificate.',
  );
}

function requireTime({ notBefore, notAfter }: X509Certificate, now: Date, what: string): void {
  if (now < notBefore)
    throw new CertificateRefused(`${what} is not valid before ${notBefore.toISOString()}.`);
  if (now > notAfter) throw new CertificateRefused(`${what} expired at ${notAfter.toISOString()}.`);
}

function requireHolder(certificate: X509Certificate, agentId: string): void {
  const names = certificate.getExtension(SubjectAlternativeNameExtension)?.names.items ?? [];
  const isHolder = names.some(
    ({ type, value }) => type === 'url' && value.startsWith(certificateHolder(agentId, '')),
  );
  if (!isHolder) throw new CertificateRefused(`the certificate does not belong to the agent ${agentId}.`);
}

function keyTypeOf({ publicKey: { algorithm } }: X509Certificate): SealingKeyType {
  if ('namedCurve' in algorithm && algorithm.namedCurve === 'P-256') return 'EC';
  if (/^RSA/.test(algorithm.name)) return 'RSA';
  throw new CertificateRefused('the certificate’s key is neither P-256 nor RSA.');
}

function parsed<Result>(read: () => Result, what: string): Result {
  try {
    return read();
  } catch {
    throw new CertificateRefused(`${what} is not an X.509 certificate in PEM.`);
  }
}

function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}
