import ipaddr from 'ipaddr.js';

/** The key of an address in counters. An IPv6 customer usually has a /64 network, so it counts as one address. */
export function buildAddressKey(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const ip = ipaddr.process(address);
  const network =
    ip.kind() === 'ipv4' ? ip : new ipaddr.IPv6([...ip.toByteArray().slice(0, 8), ...Array(8).fill(0)]);
  return network.toString();
}
