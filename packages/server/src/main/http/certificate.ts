/** TLS of the server: certificate and key from two PEM files, which may be replaced while it runs. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import type { Log } from '../../kernel/log.ts';

export interface TlsFiles {
  /** The certificate and its intermediate certificates. */
  certFile: string;
  keyFile: string;
}

export interface Certificate {
  cert: string;
  key: string;
  expiresAt: Date;
}

const lookEveryMilliseconds = 5_000;

/** Throws an error for the operator that names the file and the reason. */
export function readCertificate({ certFile, keyFile }: TlsFiles): Certificate {
  const cert = readText('HEADGATE_TLS_CERT', certFile);
  const key = readText('HEADGATE_TLS_KEY', keyFile);
  const certificate = readOrExplain(
    `HEADGATE_TLS_CERT: ${certFile} is not a PEM certificate`,
    () => new X509Certificate(cert),
  );
  const privateKey = readOrExplain(
    `HEADGATE_TLS_KEY: ${keyFile} is not a PEM private key without a passphrase`,
    () => createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey))
    throw new Error(`HEADGATE_TLS_KEY: ${keyFile} is not the key of the certificate ${certFile}`);
  readOrExplain(`HEADGATE_TLS_CERT: ${certFile} cannot be used for TLS`, () =>
    createSecureContext({ cert, key }),
  );
  return { cert, key, expiresAt: new Date(certificate.validTo) };
}

/**
 * Uses a renewed certificate for new connections. If it is invalid, the server logs that and keeps the
 * previous one.
 */
export function followCertificate(
  server: Pick<Server, 'setSecureContext'>,
  files: TlsFiles,
  first: Certificate,
  log: Log,
): { look(): void; stop(): void } {
  let used = first.cert + first.key;
  let reported = '';

  function look(): void {
    try {
      const found = readCertificate(files);
      reported = '';
      if (found.cert + found.key === used) return;
      server.setSecureContext(found);
      used = found.cert + found.key;
      log.info({ expiresAt: found.expiresAt }, 'loaded a renewed TLS certificate');
    } catch (failure) {
      const { message } = failure as Error;
      if (message !== reported)
        log.warn({ err: failure }, 'cannot load the renewed TLS certificate; the previous one stays in use');
      reported = message;
    }
  }

  const timer = setInterval(look, lookEveryMilliseconds);
  return { look, stop: () => clearInterval(timer) };
}

function readText(setting: string, file: string): string {
  return readOrExplain(`${setting}: ${file} cannot be read`, () => readFileSync(file, 'utf8'));
}

function readOrExplain<Value>(fault: string, read: () => Value): Value {
  try {
    return read();
  } catch (failure) {
    const code = failure instanceof Error && 'code' in failure ? ` (${String(failure.code)})` : '';
    throw new Error(fault + code);
  }
}
