/**
 * The certificate authority of the installation. Its certificates bind the public key of an agent's instance
 * to the agent, so that secrets can be sealed for it and its receipts verified. All servers of a database
 * share it; its key is sealed with the master key.
 */
import { createHash, createPublicKey, randomBytes, type webcrypto } from 'node:crypto';
import { certificateHolder } from '@headgate/contract';
import type * as X509 from '@peculiar/x509';
import type { Clock } from '../clock.ts';
import { type ColumnTypes, type Database, type RowOf, statement } from '../database/database.ts';
import { problem } from '../http/problems.ts';
import type { NewId } from '../identifiers.ts';
import { type Sealer, Secret } from './sealed.ts';

export const authorityKeyPurpose = 'certificate authority key';
const day = 86_400_000;
const authorityDays = 3_650;
/** After this time a new authority issues, so that no certificate outlives its issuer. */
const issuesForDays = 1_825;
export const certificateDays = 90;
/** Tolerates agents whose clock is behind. */
const backdatedMilliseconds = 300_000;
const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export type KeyType = 'EC' | 'RSA';

export interface IssuedKey {
  keyId: string;
  keyType: KeyType;
  authorityId: string;
  /** PEM. */
  certificate: string;
  notBefore: Date;
  notAfter: Date;
}

export interface CertificateAuthority {
  /** Throws `certificate-request-refused`. */
  issue(request: string, holder: { agentId: string; instanceId: string }): Promise<IssuedKey>;
  /** PEM certificates from the issuer up to the root. */
  findChain(authorityId: string): Promise<string[]>;
}

const authorityRow = {
  authority_id: 'uuid',
  certificate: 'text',
  private_key_sealed: 'bytea',
  created_at: 'timestamptz',
} satisfies ColumnTypes;
type AuthorityRow = RowOf<typeof authorityRow>;

interface Authority {
  id: string;
  createdAt: Date;
  certificate: X509.X509Certificate;
  key: webcrypto.CryptoKey;
}

const selectNewest = statement(
  { row: authorityRow },
  `
  select authority_id, certificate, private_key_sealed, created_at from certificate_authority
  order by created_at desc, authority_id limit 1`,
);
const selectOne = statement(
  { parameters: { authority_id: 'uuid' }, row: { certificate: 'text' } },
  'select certificate from certificate_authority where authority_id = $authority_id',
);
const lockAuthorities = statement({}, 'lock table certificate_authority in share row exclusive mode');
const insertAuthority = statement(
  {
    parameters: {
      authority_id: 'uuid',
      certificate: 'text',
      private_key_sealed: 'bytea',
      created_at: 'timestamptz',
      not_after: 'timestamptz',
    },
  },
  `
  insert into certificate_authority (authority_id, certificate, private_key_sealed, created_at, not_after)
  values ($authority_id, $certificate, $private_key_sealed, $created_at, $not_after)`,
);

export interface AuthorityServices {
  database: Database;
  sealer: Sealer;
  clock: Clock;
  newId: NewId;
}

export function createCertificateAuthority(services: AuthorityServices): CertificateAuthority {
  const { clock } = services;
  const certificates = new Map<string, string>();
  let current: Promise<Authority> | undefined;

  async function findIssuer(): Promise<Authority> {
    current ??= openAuthority(services);
    try {
      const authority = await current;
      if (authority.createdAt.getTime() + issuesForDays * day > clock.now().getTime()) return authority;
      current = openAuthority(services);
      return await current;
    } catch (failure) {
      current = undefined;
      throw failure;
    }
  }

  return {
    async issue(request, holder) {
      const x509 = await loadX509();
      const { publicKey, keyType } = await readRequestedKey(x509, request);
      const { id, certificate: issuer, key } = await findIssuer();
      const notBefore = new Date(clock.now().getTime() - backdatedMilliseconds);
      const notAfter = new Date(clock.now().getTime() + certificateDays * day);
      const usage = keyType === 'EC' ? x509.KeyUsageFlags.keyAgreement : x509.KeyUsageFlags.keyEncipherment;
      const made = await x509.X509CertificateGenerator.create({
        serialNumber: makeSerialNumber(),
        subject: [{ CN: [holder.agentId] }],
        issuer: issuer.subjectName,
        notBefore,
        notAfter,
        publicKey,
        signingKey: key,
        signingAlgorithm: ecdsa,
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | usage, true),
          new x509.SubjectAlternativeNameExtension([
            { type: 'url', value: certificateHolder(holder.agentId, holder.instanceId) },
          ]),
          await x509.AuthorityKeyIdentifierExtension.create(issuer),
        ],
      });
      const keyId = createHash('sha256').update(Buffer.from(made.rawData)).digest('base64url');
      return { keyId, keyType, authorityId: id, certificate: made.toString('pem'), notBefore, notAfter };
    },
    async findChain(authorityId) {
      let certificate = certificates.get(authorityId);
      if (certificate === undefined) {
        const [row] = await services.database.read(selectOne, { authority_id: authorityId });
        if (row === undefined) throw new Error(`Certificate authority ${authorityId} not found.`);
        certificate = row.certificate;
        certificates.set(authorityId, certificate);
      }
      return [certificate];
    },
  };
}

/** Loaded on first use, because it costs startup time and memory and many servers never need it. */
async function loadX509(): Promise<typeof X509> {
  await import('reflect-metadata');
  return import('@peculiar/x509');
}

/** The current authority. Creates one if there is none or it is too old; of several servers only one does. */
async function openAuthority(services: AuthorityServices): Promise<Authority> {
  const now = services.clock.now();
  const isYoung = (row: AuthorityRow) => row.created_at.getTime() + issuesForDays * day > now.getTime();
  const [found] = await services.database.read(selectNewest, {});
  if (found !== undefined && isYoung(found)) return openRow(found, services.sealer);
  const made = await makeAuthority(services, now);
  const row = await services.database.transaction(async (tx) => {
    tx.send(lockAuthorities, {});
    const [other] = await tx.query(selectNewest, {});
    if (other !== undefined && isYoung(other)) return other;
    // A server with another master key must fail here, not create an authority that the others cannot use.
    if (other !== undefined) services.sealer.unseal(other.private_key_sealed, authorityKeyPurpose);
    const notAfter = new Date(now.getTime() + authorityDays * day);
    tx.send(insertAuthority, {
      authority_id: made.authority_id,
      certificate: made.certificate,
      private_key_sealed: made.private_key_sealed,
      created_at: now,
      not_after: notAfter,
    });
    return made;
  });
  return openRow(row, services.sealer);
}

async function makeAuthority(services: AuthorityServices, now: Date): Promise<AuthorityRow> {
  const x509 = await loadX509();
  const keys = await crypto.subtle.generateKey(ecdsa, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: makeSerialNumber(),
    name: [{ CN: ['Headgate certificate authority'] }],
    notBefore: new Date(now.getTime() - backdatedMilliseconds),
    notAfter: new Date(now.getTime() + authorityDays * day),
    keys,
    signingAlgorithm: ecdsa,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const key = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return {
    authority_id: services.newId(),
    certificate: certificate.toString('pem'),
    private_key_sealed: services.sealer.seal(new Secret(key), authorityKeyPurpose),
    created_at: now,
  };
}

async function openRow(row: AuthorityRow, sealer: Sealer): Promise<Authority> {
  const x509 = await loadX509();
  const pkcs8 = Buffer.from(sealer.unseal(row.private_key_sealed, authorityKeyPurpose).reveal(), 'base64');
  return {
    id: row.authority_id,
    createdAt: row.created_at,
    certificate: new x509.X509Certificate(row.certificate),
    key: await crypto.subtle.importKey('pkcs8', pkcs8, ecdsa, false, ['sign']),
  };
}

const keysTaken = 'the key must be P-256, or RSA with 2048 to 4096 bits';

/** The key of a certificate request. The signature proves that the requester has the private key. */
async function readRequestedKey(x509: typeof X509, pem: string) {
  const refuse = (reason: string) => problem('certificate-request-refused', { reason });
  let request: X509.Pkcs10CertificateRequest;
  let keyType: KeyType | undefined;
  try {
    request = new x509.Pkcs10CertificateRequest(pem);
    keyType = findKeyType(Buffer.from(request.publicKey.rawData));
  } catch {
    throw refuse('it is not a PKCS#10 request in PEM');
  }
  if (keyType === undefined) throw refuse(keysTaken);
  if (!(await request.verify().catch(() => false))) throw refuse('it is not signed with its own key');
  return { publicKey: request.publicKey, keyType };
}

function findKeyType(spki: Buffer): KeyType | undefined {
  const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1') return 'EC';
  return key.asymmetricKeyType === 'rsa' && modulusLength >= 2_048 && modulusLength <= 4_096
    ? 'RSA'
    : undefined;
}

/** 16 random bytes; positive, as RFC 5280 §4.1.2.2 requires. */
function makeSerialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}
