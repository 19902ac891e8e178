/** TLS by the server itself: the certificate and key of two PEM files, which may be replaced while it runs. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import type { Log } from '../../kernel/log.ts';

export interface TlsFiles {
  /** The certificate, and those between it and its authority. */
  certFile: string;
  keyFile: string;
}

export interface Certificate {
  cert: string;
  key: string;
  expiresAt: Date;
}

const lookEveryMilliseconds = 5_000;

/** Throws in words for the operator: which file is bad, and why. */
export function readCertificate({ certFile, keyFile }: TlsFiles): Certificate {
  const cert = readText('HEADGATE_TLS_CERT', certFile);
  const key = readText('HEADGATE_TLS_KEY', keyFile);
  const certificate = parsed(
    `HEADGATE_TLS_CERT: ${certFile} is no certificate in PEM`,
    () => new X509Certificate(cert),
  );
  const privateKey = parsed(
    `HEADGATE_TLS_KEY: ${keyFile} is no private key in PEM without a passphrase`,
    () => createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey))
    throw new Error(`HEADGATE_TLS_KEY: ${keyFile} is not the key of the certificate ${certFile}`);
  parsed(`HEADGATE_TLS_CERT: ${certFile} cannot be used for TLS`, () => createSecureContext({ cert, key }));
  return { cert, key, expiresAt: new Date(certificate.validTo) };
}

/** Puts a renewed certificate to use for new connections; a bad one is logged, and the one before stays. */
export function followCertificate(
  server: Pick<Server, 'setSecureContext'>,
  files: TlsFiles,
  first: Certificate,
  log: Log,
): { look(): void; stop(): void } {
  let used = first.cert + first.key;
  let told = '';

  function look(): void {
    try {
      const found = readCertificate(files);
      told = '';
      if (found.cert + found.key === used) return;
      server.setSecureContext(found);
      used = found.cert + found.key;
      log.info({ expiresAt: found.expiresAt }, 'the TLS certificate was renewed');
    } catch (failure) {
      const { message } = failure as Error;
      if (message !== told) log.warn({ err: failure }, 'the TLS certificate stays as it was read before');
      told = message;
    }
  }

  const timer = setInterval(look, lookEveryMilliseconds);
  return { look, stop: () => clearInterval(timer) };
}

function readText(setting: string, file: string): string {
  return parsed(`${setting}: ${file} cannot be read`, () => readFileSync(file, 'utf8'));
}

function parsed<Value>(fault: string, read: () => Value): Value {
  try {
    return read();
  } catch (failure) {
    const code = failure instanceof Error && 'code' in failure ? ` (${String(failure.code)})` : '';
    throw new Error(fault + code);
  }
}
