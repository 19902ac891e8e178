/** The certificate of an instance, for which secrets are sealed. */
import { type Static, Type } from 'typebox';
import { DateTime, Uuid } from '../primitives.ts';

export const CertificateRequest = Type.Object({
  instanceId: Uuid,
  request: Type.String({
    minLength: 1,
    maxLength: 10_000,
    description: 'PKCS#10 in PEM, by a key on the curve P-256 or of RSA with 2048 to 4096 bits',
  }),
});
export type CertificateRequest = Static<typeof CertificateRequest>;

export const IssuedCertificate = Type.Object({
  certificate: Type.String({ maxLength: 10_000, description: 'PEM' }),
  issuerChain: Type.Array(Type.String({ maxLength: 10_000, description: 'PEM' }), { maxItems: 4 }),
  kid: Type.String({ minLength: 43, maxLength: 43 }),
  notBefore: DateTime,
  notAfter: DateTime,
});
export type IssuedCertificate = Static<typeof IssuedCertificate>;
