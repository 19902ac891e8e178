/**
 * Authenticates and counts a request before its body is read, so that unauthenticated bodies cost nothing.
 */
import type { Operation } from '@headgate/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../http/problems.ts';
import { authenticateRequest, type CallerServices, hasSentCredentials } from './caller.ts';
import { InactiveCaller } from './inactive-caller.ts';
import type { Scope } from './permissions.ts';
import type { Counted, RateLimit } from './rate-limit.ts';
import type { Sessions } from './sessions.ts';
import type { TokenOwner } from './tokens.ts';

const owners = new WeakMap<FastifyRequest, TokenOwner>();
const counted = new WeakMap<FastifyRequest, { owner: { actorId: string }; count: Counted }>();

/**
 * Creates the `onRequest` hook of an operation. Throws `token-required`, `token-invalid` and `rate-limited`;
 * the agent protocol has no rate limit.
 */
export function createAdmission(
  operation: Operation,
  services: CallerServices & { rateLimit: RateLimit },
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    // Set first, so that refusals and replayed responses have it too.
    if (operation.answerHoldsSecret) reply.header('cache-control', 'no-store');
    const identify = () => authenticateRequest(services, operation, request);
    // A cache that several people share must not keep what is for one of them.
    if (request.headers.authorization === undefined && !operation.answerHoldsSecret)
      reply.header('cache-control', 'private, no-cache');
    owners.set(
      request,
      operation.surface === 'agent' ? await identify() : await admit(services, request, reply, identify),
    );
  };
}

/**
 * Identifies the caller and counts the request: against the caller and its account, or against the address if it is
 * refused.
 */
export async function admit<Owner extends Scope>(
  { rateLimit, sessions }: { rateLimit: RateLimit; sessions: Sessions },
  request: FastifyRequest,
  reply: FastifyReply,
  identify: () => Promise<Owner>,
): Promise<Owner> {
  try {
    const owner = await identify();
    if (rateLimit.isRefused(owner)) throw new InactiveCaller(owner);
    const count = rateLimit.count(owner);
    counted.set(request, { owner, count });
    reply.headers(count.headers);
    return owner;
  } catch (failure) {
    if (hasSentCredentials(sessions, request) && failure instanceof Problem && failure.status === 401)
      rateLimit.countRefused(request.ip);
    throw failure;
  }
}

/**
 * Returns what the request failed with. If the database said that its caller is inactive, the request counts against
 * its address instead of the account, which may be `rate-limited`.
 */
export function recountRefused(
  rateLimit: RateLimit,
  request: FastifyRequest,
  reply: FastifyReply,
  failure: unknown,
): unknown {
  const known = counted.get(request);
  if (!(failure instanceof InactiveCaller) || known?.owner.actorId !== failure.actorId) return failure;
  counted.delete(request);
  known.count.refuse();
  for (const name of Object.keys(known.count.headers)) reply.removeHeader(name);
  try {
    rateLimit.countRefused(request.ip);
    return failure;
  } catch (limited) {
    return limited;
  }
}

export function requireTokenOwner(request: FastifyRequest): TokenOwner {
  const owner = owners.get(request);
  if (owner === undefined) throw new Error('The request was not authenticated.');
  return owner;
}
