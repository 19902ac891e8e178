/** Who sends a request of git: an access token, or a client id and its secret, by HTTP Basic or Bearer. */
import type { FastifyRequest } from 'fastify';
import { type ClientAuthentication, ClientRefusal } from '../../access/tokens/index.ts';
import { Problem, problem, withHeaders } from '../../kernel/http/problems.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { Secret } from '../../kernel/security/sealed.ts';
import type { Tokens } from '../../kernel/security/tokens.ts';

export interface CallerServices {
  tokens: Tokens;
  clients: ClientAuthentication;
}

const longestPart = 8_192;
const challenge = { 'WWW-Authenticate': 'Basic realm="Headgate", charset="UTF-8"' };

/**
 * @throws `git-password-required`, `git-password-refused` with a challenge, so that git asks for a password or a new
 * one
 */
export async function identifyCaller(
  { tokens, clients }: CallerServices,
  request: FastifyRequest,
): Promise<Scope> {
  const header = request.headers.authorization ?? '';
  const bearer = /^Bearer +([\w.~+/=-]+) *$/i.exec(header)?.[1];
  try {
    if (bearer !== undefined) return toScope(await tokens.verify(bearer, 'dpc'));
    const { user, password } = readBasic(header);
    // An access token is a JWT; no client secret has two dots.
    if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(password)) return toScope(await tokens.verify(password, 'dpc'));
    const attempt = { address: request.ip, requestId: request.id };
    const client = await clients.authenticate(attempt, user, new Secret(password));
    if (client.surface === 'dpc') return toScope(client);
    throw problem('token-invalid', {
      reason: 'it belongs to an agent; use the credential of a program or a user.',
    });
  } catch (failure) {
    if (failure instanceof ClientRefusal) throw explainRefusal(failure);
    throw explainForGit(failure);
  }
}

function readBasic(header: string): { user: string; password: string } {
  const encoded = /^Basic +([\w+/=-]+) *$/i.exec(header)?.[1];
  if (encoded === undefined || encoded.length > longestPart) throw problem('git-password-required');
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const user = text.slice(0, colon);
  const password = text.slice(colon + 1);
  if (colon < 0 || password === '') throw problem('git-password-required');
  return { user, password };
}

/** What is wrong with a bearer token, in words for users of git, who know it as a password. */
export function explainForGit(failure: unknown): unknown {
  if (!(failure instanceof Problem) || failure.status !== 401) return failure;
  if (failure.code !== 'token-invalid') return withHeaders(failure, challenge);
  const reason = failure.message.replace(/^The bearer token is not accepted: /, '');
  return withHeaders(problem('git-password-refused', { reason }), challenge);
}

function explainRefusal({ message, status, headers }: ClientRefusal): Problem {
  const reason = message.charAt(0).toLowerCase() + message.slice(1);
  if (status === 401) return withHeaders(problem('git-password-refused', { reason }), challenge);
  return withHeaders(problem('rate-limited', { seconds: Number(headers['retry-after'] ?? 1) }), headers);
}

function toScope({ accountId, actorId, userCredentialId, sessionId, isUser }: Scope): Scope {
  return { accountId, actorId, userCredentialId, sessionId, isUser };
}
