/** Issues certificates like the server. */
import { createHash, webcrypto } from 'node:crypto';
import type { CertificateRequest, IssuedCertificate } from '@headgate/contract';

const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export async function createIssuer(agentId: string, now: () => Date, days = 90) {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const keys = await webcrypto.subtle.generateKey(ecdsa, true, ['sign', 'verify']);
  const requests: CertificateRequest[] = [];
  return {
    requests,
    async issue(body: CertificateRequest): Promise<IssuedCertificate> {
      requests.push(body);
      const request = new x509.Pkcs10CertificateRequest(body.request);
      if (!(await request.verify())) throw new Error('the request is not signed by its key');
      const notBefore = now();
      const notAfter = new Date(notBefore.getTime() + days * 86_400_000);
      const certificate = await x509.X509CertificateGenerator.create({
        subject: [{ CN: [agentId] }],
        issuer: [{ CN: ['test'] }],
        notBefore,
        notAfter,
        publicKey: request.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: ecdsa,
      });
      return {
        certificate: certificate.toString('pem'),
        issuerChain: [],
        kid: createHash('sha256').update(Buffer.from(certificate.rawData)).digest('base64url'),
        notBefore: notBefore.toISOString(),
        notAfter: notAfter.toISOString(),
      };
    },
  };
}
