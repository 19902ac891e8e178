/**
 * Guards outgoing requests to addresses that a tenant can set (design law 8). It resolves the name and checks
 * every address. The caller must connect to the checked address, so that a later DNS change has no effect,
 * and check redirects again.
 *
 * Refused unless allowed: private, loopback, link-local, multicast, reserved and unspecified ranges of IPv4
 * and IPv6, also as IPv4 in IPv6, and plain http.
 */
import { lookup as systemLookup } from 'node:dns/promises';
import ipaddr from 'ipaddr.js';

export type Resolve = (host: string) => Promise<readonly string[]>;

export interface EgressGuard {
  /** The checked address to connect to. Throws EgressRefused with a message for the caller. */
  check(address: string): Promise<CheckedAddress>;
}

export interface CheckedAddress {
  /** Without user and password, so that it can be stored and logged. */
  url: URL;
  /** Connect to this address; send `url.host` as Host header and TLS server name. */
  ip: string;
  family: 4 | 6;
  /** All addresses of the name, which were all checked, in the resolver's order. */
  addresses: readonly { address: string; family: 4 | 6 }[];
}

export class EgressRefused extends Error {
  override name = 'EgressRefused';
}

/** The name has no address now; it may have one later. */
export class EgressUnresolved extends EgressRefused {
  override name = 'EgressUnresolved';
}

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

export interface EgressAllow {
  hosts: ReadonlySet<string>;
  ranges: readonly Range[];
}

/** Parses `HEADGATE_EGRESS_ALLOW`: CIDR ranges and host names. Throws for anything else. */
export function parseEgressAllow(entries: readonly string[]): EgressAllow {
  const hosts = new Set<string>();
  const ranges: Range[] = [];
  for (const entry of entries) {
    if (ipaddr.isValidCIDR(entry)) ranges.push(ipaddr.parseCIDR(entry));
    else if (ipaddr.isValid(entry))
      ranges.push([ipaddr.process(entry), ipaddr.process(entry).kind() === 'ipv4' ? 32 : 128]);
    else if (/^(?!-)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/i.test(entry)) hosts.add(entry.toLowerCase());
    else throw new Error(`${JSON.stringify(entry)} is neither a CIDR range nor a host name`);
  }
  return { hosts, ranges };
}

const resolveBySystem: Resolve = async (host) => {
  const found = await systemLookup(host, { all: true, verbatim: true });
  return found.map((each) => each.address);
};

export function createEgressGuard(allow: EgressAllow, resolve: Resolve = resolveBySystem): EgressGuard {
  const isInAllowedRange = (ip: ipaddr.IPv4 | ipaddr.IPv6) =>
    allow.ranges.some(
      ([network, bits]) => network.kind() === ip.kind() && ip.match(network as ipaddr.IPv4, bits),
    );

  function permit(text: string, hostAllowed: boolean): ipaddr.IPv4 | ipaddr.IPv6 {
    const ip = unwrapIpv4(ipaddr.process(text));
    if (hostAllowed || isInAllowedRange(ip) || isPublic(ip)) return ip;
    throw new EgressRefused(
      `The address ${text} is in a ${describeRange(ip)} range, which is not allowed. Use a public address, or ask the operator to add this one to HEADGATE_EGRESS_ALLOW.`,
    );
  }

  return {
    async check(address) {
      const url = parseAddress(address);
      const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
      const hostAllowed = allow.hosts.has(host);
      const found = ipaddr.isValid(host) ? [host] : await resolveHost(resolve, host);
      // Check every address of the name: the resolver may return them in another order next time.
      const ips = found.map((text) => permit(text, hostAllowed));
      const [ip] = ips;
      if (ip === undefined) throw new EgressUnresolved(`The host ${host} has no address.`);
      if (url.protocol === 'http:' && !hostAllowed && !ips.every(isInAllowedRange)) {
        throw new EgressRefused(
          `Plain http to ${host} is not allowed; use https, or ask the operator to add the host to HEADGATE_EGRESS_ALLOW.`,
        );
      }
      const addresses = ips.map(describeAddress);
      const { address: first, family } = describeAddress(ip);
      return { url, ip: first, family, addresses };
    },
  };
}

/** All public addresses of IPv6 are in 2000::/3 (RFC 4291 §2.4). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
const isPublic = (ip: ipaddr.IPv4 | ipaddr.IPv6) =>
  ip.range() === 'unicast' && (ip.kind() === 'ipv4' || ip.match(globalUnicast));
const describeRange = (ip: ipaddr.IPv4 | ipaddr.IPv6) => (ip.range() === 'unicast' ? 'reserved' : ip.range());

function describeAddress(ip: ipaddr.IPv4 | ipaddr.IPv6): { address: string; family: 4 | 6 } {
  return { address: ip.toString(), family: ip.kind() === 'ipv4' ? 4 : 6 };
}

/** IPv4-compatible IPv6 (`::127.0.0.1`, RFC 4291 §2.5.5.1) reaches the embedded IPv4 address. */
function unwrapIpv4(ip: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (ip.kind() === 'ipv4') return ip;
  const bytes = ip.toByteArray();
  const compatible =
    bytes.slice(0, 12).every((byte) => byte === 0) && bytes.slice(12, 15).some((byte) => byte !== 0);
  return compatible ? new ipaddr.IPv4(bytes.slice(12)) : ip;
}

function parseAddress(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new EgressRefused('The address must be an absolute http or https URL.');
  }
  url.username = '';
  url.password = '';
  return url;
}

async function resolveHost(resolve: Resolve, host: string): Promise<readonly string[]> {
  try {
    return await resolve(host);
  } catch {
    throw new EgressUnresolved(`The host ${host} could not be resolved.`);
  }
}
