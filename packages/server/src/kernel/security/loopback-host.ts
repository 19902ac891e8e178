import ipaddr from 'ipaddr.js';

/**
 * Whether a host is this machine, by its name alone: `localhost`, or a loopback address. Other machines cannot reach
 * it.
 */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  if (ipaddr.isValid(name)) return ipaddr.process(name).range() === 'loopback';
  return name === 'localhost' || name.endsWith('.localhost');
}
