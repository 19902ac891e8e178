export { CertificateRefused } from './agent-certificate.ts';
export { type SecretToSeal, sealSecret } from './seal-secret.ts';
