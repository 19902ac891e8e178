/**
 * Authenticates and counts a request before its body is read, so that unauthenticated bodies cost nothing.
 */
import type { Operation } from '@headgate/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../http/problems.ts';
import type { RateLimit } from './rate-limit.ts';
import type { TokenOwner, Tokens } from './tokens.ts';

const owners = new WeakMap<FastifyRequest, TokenOwner>();

/**
 * Creates the `onRequest` hook of an operation. Throws `token-required`, `token-invalid` and `rate-limited`;
 * the agent protocol has no rate limit.
 */
export function createAdmission(
  { surface, answerHoldsSecret }: Operation,
  { tokens, rateLimit }: { tokens: Tokens; rateLimit: RateLimit },
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    // Set first, so that refusals and replayed responses have it too.
    if (answerHoldsSecret) reply.header('cache-control', 'no-store');
    const owner = await tokens.verify(readBearer(request), surface);
    if (surface === 'dpc') reply.headers(rateLimit.count(owner.accountId));
    owners.set(request, owner);
  };
}

export function requireTokenOwner(request: FastifyRequest): TokenOwner {
  const owner = owners.get(request);
  if (owner === undefined) throw new Error('The request was not authenticated.');
  return owner;
}

export function readBearer(request: FastifyRequest): string {
  const match = /^Bearer +([\w.~+/=-]+) *$/i.exec(request.headers.authorization ?? '');
  if (match?.[1] === undefined) throw problem('token-required');
  return match[1];
}
