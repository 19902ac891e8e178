/** Where people can sign in: over HTTPS, or on this machine, because browsers keep a session only there. */
import type { FastifyRequest } from 'fastify';
import { isLoopbackHost } from '../../kernel/security/loopback-host.ts';

export function isSignInAddress({ protocol, hostname }: Pick<URL, 'protocol' | 'hostname'>): boolean {
  return protocol === 'https:' || isLoopbackHost(hostname);
}

/** Whether the browser's address is one. A proxy that is not trusted shows only in the public address. */
export function isSignInRequest(request: FastifyRequest, publicUrl: string): boolean {
  const ofBrowser = { protocol: `${request.protocol}:`, hostname: request.hostname };
  return isSignInAddress(ofBrowser) || new URL(publicUrl).protocol === 'https:';
}

/** Whether the browser is on this machine, and no proxy is between. */
export function isLoopbackRequest(request: FastifyRequest): boolean {
  const { hostname, ip, headers } = request;
  const isForwarded = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => name in headers);
  return !isForwarded && isLoopbackHost(hostname) && isLoopbackHost(ip);
}

/**
 * Where the browser goes after signing in: a path of this server, never another site. Browsers read `\` as `/`, and
 * skip tabs and line ends.
 */
export function readReturnPath(text: string | undefined, publicUrl: string): string {
  const fallback = '/sign-in';
  if (text === undefined || !/^\/[!-~]{0,1000}$/.test(text) || /^\/[/\\]/.test(text)) return fallback;
  const base = new URL(publicUrl);
  if (!URL.canParse(text, publicUrl)) return fallback;
  const url = new URL(text, base);
  // `/.//other.example` becomes `//other.example`, which is another site.
  const isHere = url.origin === base.origin && !url.pathname.startsWith('//');
  return isHere ? url.pathname + url.search : fallback;
}
