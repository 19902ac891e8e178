/** An agent for tests that has a certificate, opens sealed secrets and confirms writes. */
import { createHash, generateKeyPairSync, type KeyObject, randomUUID, webcrypto } from 'node:crypto';
import {
  type ClaimResponse,
  type IssuedCertificate,
  type Receipt,
  type ReportsResponse,
  receiptType,
  type WorkOf,
} from '@headgate/contract';
import { CompactSign, compactDecrypt } from 'jose';
import type { Account, RegisteredAgent } from './account.ts';

type Refusal = { message: string; valueFault?: string };

export interface SealingAgent extends RegisteredAgent {
  instanceId: string;
  issued: IssuedCertificate;
  privateKey: KeyObject;
  /** Waits for the next write; undefined if none came. */
  next(waitSeconds?: number): Promise<WorkOf<'secret-write'> | undefined>;
  open(work: WorkOf<'secret-write'>): Promise<string>;
  /** Confirms the write, or refuses it with a message. */
  end(work: WorkOf<'secret-write'>, said?: Partial<Receipt> | Refusal): Promise<ReportsResponse>;
  /** Confirms the next write, as an agent would. */
  confirmNext(): Promise<void>;
}

const ec = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };

export function makeKeys(type: 'ec' | 'rsa') {
  return type === 'ec'
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('rsa', { modulusLength: 2_048 });
}

/** Makes a certificate request in PEM. */
export async function makeCertificateRequest(keys: {
  publicKey: KeyObject;
  privateKey: KeyObject;
}): Promise<string> {
  await import('reflect-metadata');
  const { Pkcs10CertificateRequestGenerator } = await import('@peculiar/x509');
  const algorithm = keys.privateKey.asymmetricKeyType === 'rsa' ? rsa : ec;
  const { subtle } = webcrypto;
  const [pkcs8, spki] = [
    keys.privateKey.export({ format: 'der', type: 'pkcs8' }),
    keys.publicKey.export({ format: 'der', type: 'spki' }),
  ];
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys: {
      privateKey: await subtle.importKey('pkcs8', pkcs8, algorithm, true, ['sign']),
      publicKey: await subtle.importKey('spki', spki, algorithm, true, ['verify']),
    },
    signingAlgorithm: algorithm,
  });
  return request.toString('pem');
}

export async function createSealingAgent(
  account: Account,
  input: { type?: 'ec' | 'rsa'; agent?: RegisteredAgent } = {},
): Promise<SealingAgent> {
  const { type = 'ec' } = input;
  const agent = input.agent ?? (await account.agent());
  const instanceId = randomUUID();
  const { client } = agent;
  const hello = {
    protocolVersions: [1],
    agentVersion: '0.1.0',
    instanceId,
    abilities: ['secret-write'],
    concurrency: 10,
  };
  await client.post('/hello', hello);
  const keys = makeKeys(type);
  const body = { instanceId, request: await makeCertificateRequest(keys) };
  const issued = (await client.post<IssuedCertificate>('/certificates', body)).body;

  const made: SealingAgent = {
    ...agent,
    instanceId,
    issued,
    privateKey: keys.privateKey,
    async next(waitSeconds = 25) {
      const claim = await client.post<ClaimResponse>('/claims', { instanceId, max: 1, waitSeconds });
      const [work] = claim.body.work;
      return work?.kind === 'secret-write' ? work : undefined;
    },
    async open({ payload }) {
      const { plaintext } = await compactDecrypt(payload.sealedValue, keys.privateKey);
      return new TextDecoder().decode(plaintext);
    },
    async end(work, said = {}) {
      const { workId, epoch, payload } = work;
      const outcome =
        'message' in said
          ? { status: 'FAILED', ...said }
          : { status: 'SUCCESS', receipt: await makeReceipt(made, payload, said) };
      const reports = [
        { workId, epoch, sequence: 1, type: 'started' },
        { workId, epoch, sequence: 2, type: 'completed', outcome },
      ];
      return (await client.post<ReportsResponse>('/reports', { instanceId, reports })).body;
    },
    async confirmNext() {
      const work = await made.next();
      if (work !== undefined) await made.end(work);
    },
  };
  return made;
}

function makeReceipt(
  { agentId, issued, privateKey }: SealingAgent,
  payload: WorkOf<'secret-write'>['payload'],
  said: Partial<Receipt>,
): Promise<string> {
  const { keyId: _, sealedValue, ...place } = payload;
  const [head = ''] = sealedValue.split('.');
  const { jti } = JSON.parse(Buffer.from(head, 'base64url').toString());
  const receipt: Receipt = {
    agent: agentId,
    jti,
    ...place,
    sha256: createHash('sha256').update(sealedValue).digest('base64url'),
    resolverRef: `test://${place.name}`,
    vaultSecretName: place.name,
    iat: 1_800_000_000,
    ...said,
  };
  const alg = privateKey.asymmetricKeyType === 'rsa' ? 'PS256' : 'ES256';
  return new CompactSign(new TextEncoder().encode(JSON.stringify(receipt)))
    .setProtectedHeader({ alg, typ: receiptType, kid: issued.kid })
    .sign(privateKey);
}
