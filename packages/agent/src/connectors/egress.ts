/**
 * To which addresses connectors may connect. A name is resolved here and the connection goes to the addresses
 * that were checked, so that a later change of DNS has no effect.
 *
 * The agent stands in the customer's network, and pipelines are data of a tenant: private addresses, and plain
 * http, only where the agent's operator allows them. Addresses at which clouds give out credentials are refused
 * even then.
 */
import { lookup as systemLookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv6 } from 'node:net';

export interface EgressAllow {
  hosts: ReadonlySet<string>;
  ranges: BlockList;
}

export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

export type Resolve = (host: string) => Promise<readonly ResolvedAddress[]>;

export interface Egress {
  /** The checked addresses of the host. @throws EgressRefused */
  check(url: URL): Promise<readonly ResolvedAddress[]>;
}

export class EgressRefused extends Error {
  override name = 'EgressRefused';
}

/** Parses `HEADGATE_AGENT_EGRESS_ALLOW`: host names, addresses and CIDR ranges. @throws Error for anything else */
export function parseEgressAllow(text: string): EgressAllow {
  const hosts = new Set<string>();
  const ranges = new BlockList();
  for (const entry of text.split(',').map((each) => each.trim())) {
    if (entry === '') continue;
    const [address = '', bits, ...more] = entry.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    const most = family === 'ipv6' ? 128 : 32;
    if (isIP(address) > 0 && bits === undefined) ranges.addAddress(address, family);
    else if (isIP(address) > 0 && more.length === 0 && /^\d{1,3}$/.test(bits ?? '') && Number(bits) <= most)
      ranges.addSubnet(address, Number(bits), family);
    else if (/^(?!-)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/i.test(entry)) hosts.add(entry.toLowerCase());
    else throw new Error(`${JSON.stringify(entry)} is neither a CIDR range nor a host name`);
  }
  return { hosts, ranges };
}

const list = (ranges: readonly string[]): BlockList => {
  const blocked = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    blocked.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return blocked;
};

/** What is not public, by the registries of special addresses of IANA. */
const special = list([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
]);
/** All public addresses of IPv6 (RFC 4291, section 2.4). */
const globalUnicast = list(['2000::/3']);
/** The metadata services of clouds. */
const metadata = list([
  ...[
    '169.254.169.254/32',
    '169.254.170.2/32',
    '169.254.170.23/32',
    '100.100.100.200/32',
    '168.63.129.16/32',
  ],
  ...['fd00:ec2::254/128', 'fd00:ec2::23/128', 'fd20:ce::254/128'],
]);

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4');
const isIn = (address: string, ranges: BlockList) => ranges.check(address, familyOf(address));

/** An IPv4 address in an IPv6 one reaches the IPv4 address. */
function unwrapIpv4(address: string): string {
  if (!isIPv6(address)) return address;
  const host = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  // Mapped and translated addresses (RFC 4291, RFC 6052).
  const [, high, low] = /^(?:64:ff9b)?::(?:ffff:(?:0:)?)?([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host) ?? [];
  if (high === undefined || low === undefined) return host;
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [first >> 8, first & 255, second >> 8, second & 255].join('.');
}

function isPublic(address: string): boolean {
  if (isIn(address, special)) return false;
  return !isIPv6(address) || isIn(address, globalUnicast);
}

const resolveBySystem: Resolve = async (host) => {
  const found = await systemLookup(host, { all: true, verbatim: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

const setting = 'HEADGATE_AGENT_EGRESS_ALLOW';

export function createEgress(allow: EgressAllow, resolve: Resolve = resolveBySystem): Egress {
  function permit(host: string, written: string): void {
    const address = unwrapIpv4(written);
    if (isIn(address, metadata))
      throw new EgressRefused(
        `${host} is ${address}, where a cloud gives out credentials: it is never called`,
      );
    if (allow.hosts.has(host) || isIn(address, allow.ranges) || isPublic(address)) return;
    throw new EgressRefused(
      `${host} is ${address}, which is not a public address: use a public one, or ask the operator of the agent to add it to ${setting}`,
    );
  }

  return {
    async check(url) {
      const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
      const version = isIP(host);
      const found: readonly ResolvedAddress[] =
        version > 0
          ? [{ address: host, family: version === 6 ? 6 : 4 }]
          : await resolve(host).catch(() => {
              throw new EgressRefused(`the host ${host} could not be resolved: correct the address`);
            });
      if (found.length === 0) throw new EgressRefused(`the host ${host} has no address`);
      for (const { address } of found) permit(host, address);
      const isAllowed =
        allow.hosts.has(host) || found.every(({ address }) => isIn(unwrapIpv4(address), allow.ranges));
      if (url.protocol === 'http:' && !isAllowed)
        throw new EgressRefused(
          `plain http to ${host} is not allowed: use https, or ask the operator of the agent to add the host to ${setting}`,
        );
      return found;
    },
  };
}
