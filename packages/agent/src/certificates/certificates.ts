/**
 * The keys of this instance and their certificates, on disk.
 *
 * - **kid**: identifies a certificate: the SHA-256 of its DER, in base64url.
 * - **current**: the newest certificate, to which values are sealed.
 * - **next key**: a key without a certificate yet. It is kept, so that a lost response does not lead to
 *   another key.
 *
 * A certificate is renewed after two thirds of its lifetime. Its key is kept while values sealed for it may
 * arrive.
 */
import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CertificateRequest, IssuedCertificate } from '@headgate/contract';
import { createBackoff } from '../backoff.ts';
import { makePrivateFolder } from '../host/folders.ts';
import { readPrivateFile, writePrivateFile } from '../host/private-file.ts';
import { getReason, type Log } from '../log.ts';
import { getKeyType, type KeyType, makePrivateKey, requestCertificate } from './certificate-request.ts';

const lookEveryMilliseconds = 60_000;
const renewAfter = 2 / 3;
/** How long a key is kept after its certificate expired. No sealed value is in transit for longer. */
const keptMilliseconds = 86_400_000;

export interface AgentKey {
  kid: string;
  /** The agent named in the certificate. */
  agentId: string;
  privateKey: KeyObject;
  keyType: KeyType;
  notBefore: Date;
  notAfter: Date;
  /** The digest of the client secret under which the certificate was issued. */
  secretDigest: string | undefined;
}

interface KeptKey {
  clientId: string;
  /** Absent in files of older agents. */
  secretDigest?: string;
  privateKey: string;
  certificate: string;
}

export interface CertificateOptions {
  folder: string;
  instanceId: string;
  /**
   * A certificate of another agent is not used, and one issued under another secret is revoked. Read at each
   * use, since the secret may be replaced.
   */
  credential: { readonly clientId: string; readonly clientSecret: string };
  keyType: KeyType;
  request(body: CertificateRequest, signal: AbortSignal): Promise<IssuedCertificate>;
  log: Log;
  now?: () => Date;
}

export class Certificates {
  readonly #options: CertificateOptions;
  readonly #now: () => Date;
  readonly #keys = new Map<string, AgentKey>();
  #wake = new AbortController();

  private constructor(options: CertificateOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => new Date());
  }

  static async open(options: CertificateOptions): Promise<Certificates> {
    const certificates = new Certificates(options);
    await makePrivateFolder(options.folder);
    await certificates.#load();
    return certificates;
  }

  findKey(kid: string): AgentKey | undefined {
    return this.#keys.get(kid);
  }

  get current(): AgentKey | undefined {
    const now = this.#now();
    const secret = this.#computeSecretDigest();
    const good = [...this.#keys.values()].filter((key) => key.notAfter > now && key.secretDigest === secret);
    return good.sort((one, other) => other.notBefore.getTime() - one.notBefore.getTime())[0];
  }

  /** Renews the certificate in time until `signal` is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const backoff = createBackoff();
    while (!signal.aborted) {
      let wait = lookEveryMilliseconds;
      const woken = AbortSignal.any([signal, this.#wake.signal]);
      try {
        await this.renew(signal);
        backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        wait = Math.round(backoff.next());
        this.#options.log.warn('certificate request failed; retrying', {
          reason: getReason(error),
          waitMilliseconds: wait,
        });
      }
      await sleep(wait, undefined, { signal: woken }).catch(() => undefined);
    }
  }

  /** Call after the secret was refreshed, which revokes its certificate. */
  renewSoon(): void {
    this.#wake.abort();
    this.#wake = new AbortController();
  }

  /** Requests a certificate if there is none or it is due, and removes expired keys. */
  async renew(signal: AbortSignal): Promise<void> {
    await this.#removeOld();
    const { folder, keyType, instanceId, request, log } = this.#options;
    const { current } = this;
    if (current !== undefined && current.keyType === keyType && !this.#isDue(current)) return;
    const nextKey = join(folder, 'next.pem');
    const secretDigest = this.#computeSecretDigest();
    let privateKey = (await readPrivateFile(nextKey))?.toString('utf8');
    if (privateKey === undefined || getKeyType(createPrivateKey(privateKey)) !== keyType) {
      privateKey = await makePrivateKey(keyType);
      await writePrivateFile(nextKey, privateKey);
    }
    const issued = await request(
      { instanceId, request: await requestCertificate(privateKey, instanceId) },
      signal,
    );
    await this.#keep(issued, { privateKey, secretDigest });
    await rm(nextKey, { force: true });
    log.info('certificate issued', { kid: issued.kid, notAfter: issued.notAfter });
  }

  /** A plain digest is safe: the secret is long and random, and the file contains private keys anyway. */
  #computeSecretDigest(): string {
    const { clientId, clientSecret } = this.#options.credential;
    return createHash('sha256').update(`${clientId}\n${clientSecret}`).digest('base64url');
  }

  #isDue({ notBefore, notAfter }: AgentKey): boolean {
    const life = notAfter.getTime() - notBefore.getTime();
    return this.#now().getTime() > notBefore.getTime() + life * renewAfter;
  }

  async #keep(
    issued: IssuedCertificate,
    { privateKey, secretDigest }: { privateKey: string; secretDigest: string },
  ): Promise<void> {
    const certificate = new X509Certificate(issued.certificate);
    if (computeKid(certificate) !== issued.kid || !certificate.checkPrivateKey(createPrivateKey(privateKey)))
      throw new Error('the server sent a certificate for another key');
    const { credential, folder } = this.#options;
    const { clientId } = credential;
    const retained: KeptKey = { clientId, secretDigest, privateKey, certificate: issued.certificate };
    await writePrivateFile(join(folder, `${issued.kid}.json`), JSON.stringify(retained));
    this.#keys.set(issued.kid, parseKey(retained));
  }

  async #load(): Promise<void> {
    const { folder, credential, log } = this.#options;
    for (const name of await readdir(folder)) {
      if (!name.endsWith('.json')) continue;
      try {
        const retained = JSON.parse(String(await readPrivateFile(join(folder, name)))) as KeptKey;
        const key = parseKey(retained);
        if (retained.clientId === credential.clientId) this.#keys.set(key.kid, key);
      } catch {
        // The parser's message would quote the text, which contains a key.
        log.warn('key file cannot be read and is ignored', { file: name });
      }
    }
  }

  async #removeOld(): Promise<void> {
    const before = this.#now().getTime() - keptMilliseconds;
    for (const { kid, notAfter } of this.#keys.values()) {
      if (notAfter.getTime() > before) continue;
      this.#keys.delete(kid);
      await rm(join(this.#options.folder, `${kid}.json`), { force: true });
    }
  }
}

function parseKey({ privateKey, certificate: pem, secretDigest }: KeptKey): AgentKey {
  const certificate = new X509Certificate(pem);
  const key = createPrivateKey(privateKey);
  return {
    kid: computeKid(certificate),
    agentId: /^CN=(.+)$/m.exec(certificate.subject)?.[1] ?? '',
    privateKey: key,
    keyType: getKeyType(key),
    notBefore: new Date(certificate.validFrom),
    notAfter: new Date(certificate.validTo),
    secretDigest,
  };
}

function computeKid(certificate: X509Certificate): string {
  return createHash('sha256').update(certificate.raw).digest('base64url');
}
