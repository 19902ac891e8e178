import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../../kernel/http/problems.ts';

/**
 * Throws `malformed-request` for a request with more than one `Host` (RFC 9112 §3.2): a proxy may have judged the
 * one, and Node takes the other.
 */
export function requireOneHost({ raw: { rawHeaders } }: FastifyRequest, reply: FastifyReply): void {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts < 2) return;
  reply.raw.setHeader('connection', 'close');
  throw problem('malformed-request');
}
