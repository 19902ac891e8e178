/**
 * Pages of other origins (the Fetch standard, CORS protocol): those that the operator names may call the
 * interface and read its answers. Tokens are sent in a header by who has them, never by the browser itself:
 * credentials are not allowed.
 */
import { operations } from '@headgate/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { MethodsOf } from './methods.ts';

/** What each operation declares, and what all of them read. */
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
  'Allow, ETag, Headgate-Warning, Idempotency-Replayed, Location, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id';
const preflightSeconds = 600;

/** Writes the headers of an answer to a page of another origin. */
export type Cors = (request: FastifyRequest, reply: FastifyReply) => void;

/** `*` among the origins means all. */
export function createCors(origins: readonly string[], methodsOf: MethodsOf): Cors {
  const allowed = new Set(origins);
  const everybody = allowed.has('*');
  return (request, reply) => {
    if (request.url.startsWith('/agent/')) return;
    if (!everybody) reply.header('vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !(everybody || allowed.has(origin))) return;
    reply.headers({
      'access-control-allow-origin': everybody ? '*' : origin,
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
 * A comma list of origins, each as a browser writes it (`https://console.example:8443`), or `*`. Throws on
 * what is none.
 */
export function parseOrigins(text: string): readonly string[] {
  const origins = text.split(',').map((each) => each.trim());
  for (const origin of origins) {
    const isOrigin = URL.canParse(origin) && new URL(origin).origin === origin;
    if (origin !== '*' && !isOrigin) {
      throw new Error(`${JSON.stringify(origin)} is no origin: write it as https://console.example, or *`);
    }
  }
  return origins;
}
