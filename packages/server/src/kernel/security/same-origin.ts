/** Whether a request comes from a page of this server: protection against forged requests of other sites. */
import type { FastifyRequest } from 'fastify';
import { problem } from '../http/problems.ts';

type Headers = Pick<FastifyRequest, 'headers'>['headers'];

/** Browsers send at least one of the two headers; a request with neither does not come from a page. */
export function isSameOrigin({ origin, 'sec-fetch-site': site }: Headers, publicUrl: string): boolean {
  return site === 'same-origin' || (site === undefined && origin === new URL(publicUrl).origin);
}

/** Throws `cross-origin-request`. */
export function requireSameOrigin({ headers }: Pick<FastifyRequest, 'headers'>, publicUrl: string): void {
  if (!isSameOrigin(headers, publicUrl)) throw problem('cross-origin-request');
}
