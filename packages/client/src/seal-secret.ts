/** Seals a secret to an agent's certificate, so that only the agent can read it, not the server or a log. */
import {
  type AnswerOf,
  type getAgentCertificate,
  membersOfType,
  missingMembers,
  type SecretPlace,
  sealedHeader,
} from '@headgate/contract';
import { CompactEncrypt, importSPKI } from 'jose';
import { verifiedCertificate } from './agent-certificate.ts';

/**
 * The fields of the request's body, and the vault of its query. A value sealed for one place is refused
 * elsewhere.
 */
export interface SecretToSeal extends SecretPlace {
  value: Readonly<Record<string, string>>;
}

interface SealOptions {
  agentId: string;
  /** The response of `GET /v1/agents/{agentId}/certificate`. */
  certificate: Pick<AnswerOf<typeof getAgentCertificate>, 'certificate'>;
  /** PEM of the authority that issues agents' certificates, or of both while the authority is replaced. */
  issuer: string;
  now?: Date;
}

/**
 * Returns the `sealedValue` for `POST /v1/secrets/{agentId}/secret-value`: a compact JWE that can be used
 * once, within five minutes.
 *
 * @throws CertificateRefused if the certificate is not the agent's, not from the issuer, or not valid now
 * @throws TypeError if the value lacks a member
 */
export async function sealSecret(secret: SecretToSeal, options: SealOptions): Promise<string> {
  const { agentId, issuer: issuers, now = new Date() } = options;
  const { value, ...place } = secret;
  const missing = missingMembers(place.type, value);
  if (missing !== undefined)
    throw new TypeError(
      `the value lacks ${missing.join(', ')}, which the type ${place.type} requires: add it.`,
    );
  const about = { issuers, agentId, now };
  const { kid, keyType, publicKey } = await verifiedCertificate(options.certificate.certificate, about);
  const jti = crypto.randomUUID();
  const header = sealedHeader({ kid, keyType }, { agent: agentId, place, jti, now });
  const plain = new TextEncoder().encode(JSON.stringify(membersOfType(place.type, value)));
  return new CompactEncrypt(plain)
    .setProtectedHeader({ ...header })
    .encrypt(await importSPKI(publicKey, header.alg));
}
