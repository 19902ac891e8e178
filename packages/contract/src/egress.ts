/**
 * The one judge of addresses that a tenant can set, for server and agent: `@headgate/contract/egress`.
 *
 * It resolves the name and judges every address. The caller connects to the judged addresses, so that a later
 * change of DNS has no effect, and asks again at each redirect. Public addresses pass by https. Other ranges,
 * and plain http, pass only if the operator's setting allows them. Addresses at which clouds give out
 * credentials never pass, in whatever form they are written. ADR 0081.
 */
import { lookup as systemLookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv6 } from 'node:net';

export type Resolve = (host: string) => Promise<readonly string[]>;

export interface EgressAllow {
  hosts: ReadonlySet<string>;
  ranges: BlockList;
}

export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

export interface Egress {
  /**
   * All addresses of the host, in the resolver's order. There is at least one.
   * @throws EgressRefused
   */
  check(url: URL): Promise<readonly ResolvedAddress[]>;
}

export class EgressRefused extends Error {
  override name = 'EgressRefused';
}

/** The name has no address now; it may have one later. */
export class EgressUnresolved extends EgressRefused {
  override name = 'EgressUnresolved';
}

/** Parses a setting: CIDR ranges, addresses and host names. @throws Error for anything else */
export function parseEgressAllow(entries: readonly string[]): EgressAllow {
  const hosts = new Set<string>();
  const ranges = new BlockList();
  for (const entry of entries) {
    const [written = '', bits, ...more] = entry.split('/');
    const [address, skipped] = readRangeStart(written);
    const most = isIPv6(address) ? 128 : 32;
    const size = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) - skipped : -1;
    if (isIP(address) > 0 && more.length === 0 && size >= 0 && size <= most)
      ranges.addSubnet(address, size, familyOf(address));
    else if (/^(?!-)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/i.test(entry)) hosts.add(entry.toLowerCase());
    else throw new Error(`${JSON.stringify(entry)} is neither a CIDR range nor a host name`);
  }
  return { hosts, ranges };
}

/** A range of mapped addresses is one of IPv4. */
function readRangeStart(written: string): [address: string, skippedBits: number] {
  const { address } = unwrap(written);
  return isIPv6(written) && !isIPv6(address) ? [address, 96] : [written, 0];
}

const createList = (ranges: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    list.addSubnet(address, Number(bits), familyOf(address));
  }
  return list;
};
const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4');
const isIn = (address: string, list: BlockList) => list.check(address, familyOf(address));

/** What is not public, by the registries of special addresses of IANA. The first range that fits names it. */
const specialRanges = Object.entries({
  unspecified: ['0.0.0.0/8', '::/128'],
  loopback: ['127.0.0.0/8', '::1/128'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10'],
  'link-local': ['169.254.0.0/16', 'fe80::/10'],
  shared: ['100.64.0.0/10'],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
  reserved: [
    ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15', '198.51.100.0/24'],
    ...['203.0.113.0/24', '240.0.0.0/4', '64:ff9b:1::/48', '2001::/23', '2001:db8::/32', '2002::/16'],
    '3fff::/20',
  ],
}).map(([name, ranges]) => [name, createList(ranges)] as const);
/** All public addresses of IPv6 (RFC 4291, section 2.4). */
const globalUnicast = createList(['2000::/3']);

/** Undefined for a public address. */
function findSpecialRange(address: string): string | undefined {
  const found = specialRanges.find(([, list]) => isIn(address, list))?.[0];
  return found ?? (isIPv6(address) && !isIn(address, globalUnicast) ? 'reserved' : undefined);
}

/** The metadata services of clouds and their kin, which give out credentials. */
const metadata = createList([
  // AWS, Azure, Google Cloud and most others; AWS ECS and EKS.
  ...['169.254.169.254/32', '169.254.170.2/32', '169.254.170.23/32'],
  ...['fd00:ec2::254/128', 'fd00:ec2::23/128', 'fd20:ce::254/128', 'fe80::a9fe:a9fe/128'],
  // Azure's host, Alibaba, Oracle, Tencent, Scaleway, Linode.
  ...['168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32', '169.254.0.23/32'],
  ...['169.254.42.42/32', 'fd00:42::42/128', 'fd00:a9fe:a9fe::1/128'],
]);
const metadataNames = new Set([
  ...['metadata', 'metadata.google.internal', 'metadata.goog', 'metadata.azure.internal'],
  ...['instance-data', 'instance-data.ec2.internal', 'metadata.tencentyun.com'],
]);

interface Unwrapped {
  /** Where a connection leads: an IPv4 address if this is one written as IPv6. */
  address: string;
  /** IPv4 addresses inside, to which a gateway may lead. */
  carried: readonly string[];
}

/** IPv4 in IPv6: RFC 4291 section 2.5.5, RFC 6052, RFC 3056, RFC 4380, RFC 5214. */
function unwrap(written: string): Unwrapped {
  if (!isIPv6(written)) return { address: written, carried: [] };
  const groups = readGroups(written.split('%', 1)[0] ?? '');
  const [a, b, c, d, e, f, g, h] = groups;
  const last = writeIpv4(g, h);
  const isZeroTo = (end: number) => groups.slice(0, end).every((group) => group === 0);
  const isMapped = isZeroTo(5) && f === 0xffff;
  const isTranslated = isZeroTo(4) && e === 0xffff && f === 0;
  const isCompatible = isZeroTo(6) && (g > 0 || h > 255);
  const isBehindNat64 = a === 0x64 && b === 0xff9b && [c, d, e, f].every((group) => group === 0);
  if (isMapped || isTranslated || isCompatible || isBehindNat64) return { address: last, carried: [] };
  const address = groups.map((group) => group.toString(16)).join(':');
  if (a === 0x64 && b === 0xff9b && c === 1) {
    // A gateway of one's own has a prefix of 48, 56, 64 or 96 bits; byte 8 stays empty.
    const bytes = groups.flatMap((group) => [group >> 8, group & 255]);
    const places = [
      ...[
        [6, 7, 9, 10],
        [7, 9, 10, 11],
        [9, 10, 11, 12],
      ],
      [12, 13, 14, 15],
    ];
    return { address, carried: places.map((place) => place.map((at) => bytes[at]).join('.')) };
  }
  if (a === 0x2002) return { address, carried: [writeIpv4(b, c)] };
  if (a === 0x2001 && b === 0)
    return { address, carried: [writeIpv4(c, d), writeIpv4(g ^ 0xffff, h ^ 0xffff)] };
  if ((e & 0xfdff) === 0 && f === 0x5efe) return { address, carried: [last] };
  return { address, carried: [] };
}

type Groups = [number, number, number, number, number, number, number, number];

function readGroups(address: string): Groups {
  // URL writes any form of an address as the shortest one in hexadecimal.
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail] = text.split('::');
  const [first, rest] = [head, tail ?? ''].map((part) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)),
  ) as [number[], number[]];
  const gap = new Array<number>(8 - first.length - rest.length).fill(0);
  return [...first, ...gap, ...rest] as Groups;
}

const writeIpv4 = (high: number, low: number) => [high >> 8, high & 255, low >> 8, low & 255].join('.');

const resolveBySystem: Resolve = async (host) => {
  const found = await systemLookup(host, { all: true, verbatim: true });
  return found.map(({ address }) => address);
};

const refuseMetadata = (what: string) =>
  new EgressRefused(
    `${what} is the metadata service of a cloud, which gives out credentials: it is never called. Use another address.`,
  );

export interface EgressPolicy {
  /** What the operator allows besides public addresses. */
  allow: EgressAllow;
  /** The name of the setting, and whose it is, for messages. */
  setting: string;
  operator: string;
  resolve?: Resolve | undefined;
}

export function createEgress({ allow, setting, operator, resolve = resolveBySystem }: EgressPolicy): Egress {
  const isAllowedHost = (host: string) => allow.hosts.has(host);

  /** @returns whether the operator allows it, also by plain http */
  function permit(host: string, written: string): boolean {
    const { address, carried } = unwrap(written);
    if ([address, ...carried].some((each) => isIn(each, metadata)))
      throw refuseMetadata(host === written ? host : `The host ${host} leads to what`);
    if (isAllowedHost(host) || isIn(address, allow.ranges)) return true;
    // A public prefix may lead to the private address that the rest of it is: ISATAP, for example.
    const refused = [address, ...carried].find(
      (each) => findSpecialRange(each) !== undefined && !isIn(each, allow.ranges),
    );
    if (refused === undefined) return false;
    const range = `in a ${findSpecialRange(refused)} range, which is not allowed`;
    // Where a name leads is the operator's: it would show the network to whoever sets names.
    if (host !== written)
      throw new EgressRefused(
        `The host ${host} leads to an address ${range}. Use a public one, or ask ${operator} to add the host to ${setting}.`,
      );
    const which = refused === address ? 'is' : `carries ${refused}, which is`;
    throw new EgressRefused(
      `The address ${written} ${which} ${range}. Use a public address, or ask ${operator} to add this one to ${setting}.`,
    );
  }

  return {
    async check(url) {
      const host = readHost(url);
      if (metadataNames.has(host)) throw refuseMetadata(host);
      const found = isIP(host) > 0 ? [host] : await resolveHost(resolve, host);
      if (found.length === 0) throw new EgressUnresolved(`The host ${host} has no address.`);
      // All of them are judged: the resolver may return them in another order next time.
      const areAllowed = found.map((address) => permit(host, address));
      if (url.protocol === 'http:' && !areAllowed.every(Boolean))
        throw new EgressRefused(
          `Plain http to ${host} is not allowed; use https, or ask ${operator} to add the host to ${setting}.`,
        );
      return found.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
    },
  };
}

/** In lower case, without brackets, and without the dots at its end: resolvers ignore one, some ignore more. */
function readHost({ hostname }: URL): string {
  let end = hostname.length;
  while (hostname[end - 1] === '.') end -= 1;
  return hostname
    .slice(0, end)
    .replace(/^\[|\]$/g, '')
    .toLowerCase();
}

async function resolveHost(resolve: Resolve, host: string): Promise<readonly string[]> {
  const found = await resolve(host).catch(() => {
    throw new EgressUnresolved(`The host ${host} could not be resolved.`);
  });
  if (found.some((address) => isIP(address) === 0))
    throw new EgressRefused(`The host ${host} has an address that is none.`);
  return found;
}
