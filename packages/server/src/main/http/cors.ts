/**
 * CORS (the Fetch standard): pages of the origins that the operator lists may call the API and read its
 * responses. Tokens are sent in a header by the page's code, never by the browser: credentials are not
 * allowed.
 */
import { operations } from '@headgate/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { MethodsOf } from './methods.ts';

/** The headers that operations declare, and those that all operations read. */
const requestHeaders = [
  ...new Set(operations.flatMap(({ headers }) => Object.keys(headers?.properties ?? {}))),
  ...[
    'accept',
    'account-id',
    'authorization',
    'content-encoding',
    'content-type',
    'idempotency-key',
    'if-match',
    'prefer',
  ],
];
const allowedHeaders = [...new Set(requestHeaders.map((name) => name.toLowerCase()))].sort().join(', ');
const exposedHeaders =
  'Allow, ETag, Headgate-Warning, Idempotency-Replayed, Location, Preference-Applied, RateLimit, ' +
  'RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id';
const preflightSeconds = 600;

/** Sets the CORS headers of a response. */
export type Cors = (request: FastifyRequest, reply: FastifyReply) => void;

/** `*` in the list allows all origins. */
export function createCors(origins: readonly string[], methodsOf: MethodsOf): Cors {
  const allowed = new Set(origins);
  const allowsAll = allowed.has('*');
  return (request, reply) => {
    if (request.url.startsWith('/agent/')) return;
    if (!allowsAll) reply.header('vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !(allowsAll || allowed.has(origin))) return;
    reply.headers({
      'access-control-allow-origin': allowsAll ? '*' : origin,
      'access-control-expose-headers': exposedHeaders,
    });
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined)
      return;
    const methods = methodsOf(request.url.split('?', 1)[0] ?? '');
    if (methods === undefined) return;
    reply.headers({
      'access-control-allow-methods': methods,
      'access-control-allow-headers': allowedHeaders,
      'access-control-max-age': String(preflightSeconds),
    });
  };
}

/**
 * Parses a comma-separated list of origins, each as a browser writes it (`https://console.example:8443`),
 * or `*`. Throws for anything else.
 */
export function parseOrigins(text: string): readonly string[] {
  const origins = text.split(',').map((each) => each.trim());
  for (const origin of origins) {
    const isOrigin = URL.canParse(origin) && new URL(origin).origin === origin;
    if (origin !== '*' && !isOrigin) {
      throw new Error(
        `${JSON.stringify(origin)} is not an origin: write it as https://console.example, or *`,
      );
    }
  }
  return origins;
}
