/** Who can reach the server, and what protects the tokens on their way to it. */
import ipaddr from 'ipaddr.js';
import type { TlsFiles } from './certificate.ts';

/** A comma list of addresses and CIDR ranges: the proxies in front. Throws on what is neither. */
export function parseTrustedProxies(text: string): readonly string[] {
  const ranges = text.split(',').map((each) => each.trim());
  for (const range of ranges) {
    if (!ipaddr.isValidCIDR(range) && !ipaddr.isValid(range))
      throw new Error(`${JSON.stringify(range)} is neither an address nor a CIDR range`);
  }
  return ranges;
}

/** What is wrong with listening on this host in plain HTTP; undefined when nothing is. */
export function exposureFault(
  host: string,
  by: { tls: TlsFiles | undefined; trustedProxies: readonly string[] },
): string | undefined {
  if (isLoopback(host) || by.tls !== undefined || by.trustedProxies.length > 0) return undefined;
  return (
    `HEADGATE_HOST is ${JSON.stringify(host)}, where others would send their secrets in plain text: ` +
    'give HEADGATE_TLS_CERT and HEADGATE_TLS_KEY, or name the TLS proxy in front by HEADGATE_TRUSTED_PROXY'
  );
}

function isLoopback(host: string): boolean {
  if (ipaddr.isValid(host)) return ipaddr.process(host).range() === 'loopback';
  return host.toLowerCase() === 'localhost';
}
