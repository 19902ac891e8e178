/** The certificate of an agent, held against the authority that the caller trusts. Runs wherever there is WebCrypto. */
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

/** Nothing was sealed: its message tells what is wrong with the certificate. */
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
 * @param pem     what the server calls the agent's certificate
 * @param issuers PEM of the authorities that the caller trusts, one or several
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
    throw new CertificateRefused('the certificate’s key is not one to seal by.');
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
      throw new CertificateRefused('the issuer is no certificate authority.');
    return requireTime(issuer, now, 'the issuer');
  }
  throw new CertificateRefused('the certificate is not signed by the issuer that is trusted.');
}

function requireTime({ notBefore, notAfter }: X509Certificate, now: Date, what: string): void {
  if (now < notBefore) throw new CertificateRefused(`${what} counts from ${notBefore.toISOString()}.`);
  if (now > notAfter) throw new CertificateRefused(`${what} has ended, on ${notAfter.toISOString()}.`);
}

function requireHolder(certificate: X509Certificate, agentId: string): void {
  const names = certificate.getExtension(SubjectAlternativeNameExtension)?.names.items ?? [];
  const isHolder = names.some(
    ({ type, value }) => type === 'url' && value.startsWith(certificateHolder(agentId, '')),
  );
  if (!isHolder) throw new CertificateRefused(`the certificate is not one of the agent ${agentId}.`);
}

function keyTypeOf({ publicKey: { algorithm } }: X509Certificate): SealingKeyType {
  if ('namedCurve' in algorithm && algorithm.namedCurve === 'P-256') return 'EC';
  if (/^RSA/.test(algorithm.name)) return 'RSA';
  throw new CertificateRefused('the certificate’s key is neither on the curve P-256 nor of RSA.');
}

function parsed<Result>(read: () => Result, what: string): Result {
  try {
    return read();
  } catch {
    throw new CertificateRefused(`${what} cannot be read as X.509 in PEM.`);
  }
}

function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}
