/** Who sends a request: the owner of its bearer token, or of the session that its cookie names. */
import type { Operation } from '@headgate/contract';
import type { FastifyRequest } from 'fastify';
import { prefersEvents } from '../http/accept.ts';
import { problem } from '../http/problems.ts';
import { requireSameOrigin } from './same-origin.ts';
import type { Sessions } from './sessions.ts';
import type { TokenOwner, Tokens } from './tokens.ts';

export interface CallerServices {
  tokens: Tokens;
  sessions: Sessions;
}

/**
 * A bearer token goes before a cookie. Throws `token-required`, `token-invalid`, `session-invalid` and
 * `cross-origin-request`.
 */
export async function authenticateRequest(
  { tokens, sessions }: CallerServices,
  { surface, success }: Operation,
  request: FastifyRequest,
): Promise<TokenOwner> {
  const { authorization, cookie, accept } = request.headers;
  const secret = surface === 'dpc' && authorization === undefined ? sessions.readCookie(cookie) : undefined;
  if (secret === undefined) return tokens.verify(readBearer(request), surface);
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const isStream = success.mediaType === 'text/event-stream' || prefersEvents(accept);
  if (!isRead || isStream) requireSameOrigin(request, tokens.issuer);
  return sessions.findOwner(secret);
}

export function hasSentCredentials(
  sessions: Sessions,
  { headers: { authorization, cookie } }: FastifyRequest,
): boolean {
  // Git sends no password before it is asked for one.
  return authorization !== undefined || sessions.readCookie(cookie) !== undefined;
}

export function readBearer(request: FastifyRequest): string {
  const match = /^Bearer +([\w.~+/=-]+) *$/i.exec(request.headers.authorization ?? '');
  if (match?.[1] === undefined) throw problem('token-required');
  return match[1];
}
