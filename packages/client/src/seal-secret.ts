/** Seals a secret to an agent's certificate, so that nobody on the way can read it: not the server, its database, or a log. */
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

/** As the body of the request that writes it has it, with the vault that its query names: what is sealed for one place is good for no other. */
export interface SecretToSeal extends SecretPlace {
  value: Readonly<Record<string, string>>;
}

interface SealOptions {
  agentId: string;
  /** What `GET /v1/agents/{agentId}/certificate` answers. */
  certificate: Pick<AnswerOf<typeof getAgentCertificate>, 'certificate'>;
  /** PEM of the authority that issues the agents' certificates, as the caller keeps it; during a change of it both. */
  issuer: string;
  now?: Date;
}

/**
 * Answers the `sealedValue` of `POST /v1/secrets/{agentId}/secret-value`: a compact JWE that is good once, for five minutes.
 *
 * @throws CertificateRefused when the certificate is not the agent's, of that issuer, and of this time; TypeError when the value lacks a member
 */
export async function sealSecret(secret: SecretToSeal, options: SealOptions): Promise<string> {
  const { agentId, issuer: issuers, now = new Date() } = options;
  const { value, ...place } = secret;
  const missing = missingMembers(place.type, value);
  if (missing !== undefined)
    throw new TypeError(`the value lacks ${missing.join(', ')}, which the type ${place.type} asks for.`);
  const about = { issuers, agentId, now };
  const { kid, keyType, publicKey } = await verifiedCertificate(options.certificate.certificate, about);
  const jti = crypto.randomUUID();
  const header = sealedHeader({ kid, keyType }, { agent: agentId, place, jti, now });
  const plain = new TextEncoder().encode(JSON.stringify(membersOfType(place.type, value)));
  return new CompactEncrypt(plain)
    .setProtectedHeader({ ...header })
    .encrypt(await importSPKI(publicKey, header.alg));
}
