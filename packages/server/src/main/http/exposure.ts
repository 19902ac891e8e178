/** Checks that tokens cannot travel in plain text over a network. */
import ipaddr from 'ipaddr.js';
import { isLoopbackHost } from '../../kernel/security/loopback-host.ts';
import type { TlsFiles } from './certificate.ts';

/** Parses a comma-separated list of addresses and CIDR ranges. Throws for anything else. */
export function parseTrustedProxies(text: string): readonly string[] {
  const ranges = text.split(',').map((each) => each.trim());
  for (const range of ranges) {
    if (!ipaddr.isValidCIDR(range) && !ipaddr.isValid(range))
      throw new Error(`${JSON.stringify(range)} is neither an address nor a CIDR range`);
  }
  return ranges;
}

/** The fault of listening on this host in plain HTTP; undefined if there is none. */
export function findExposureFault(
  host: string,
  by: { tls: TlsFiles | undefined; trustedProxies: readonly string[] },
): string | undefined {
  if (isLoopbackHost(host) || by.tls !== undefined || by.trustedProxies.length > 0) return undefined;
  return (
    `HEADGATE_HOST is ${JSON.stringify(host)}, so clients would send secrets in plain text over the network: ` +
    'set HEADGATE_TLS_CERT and HEADGATE_TLS_KEY, or set HEADGATE_TRUSTED_PROXY to the address of your TLS proxy'
  );
}
