/** Begins sessions, and writes their cookie. */
import type { SignInMethod } from '@headgate/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../kernel/clock.ts';
import type { Transaction } from '../../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { generateSecret, type Secret } from '../../kernel/security/sealed.ts';
import type { Sessions } from '../../kernel/security/sessions.ts';
import { buildEndEvent, endSessionBySecret, insertSession } from './session.store.ts';

const mostAgentCharacters = 255;

export interface Beginning {
  accountId: string;
  userId: string;
  userName: string;
  method: SignInMethod;
  issuer?: { id: string; name: string; session: string | undefined } | undefined;
}

export interface SessionServices {
  sessions: Sessions;
  clock: Clock;
  newId: NewId;
}

/**
 * Always a new secret, so that nobody else knows it. The session that the browser had ends. Returns the events for the
 * account of the user.
 */
export async function beginSession(
  tx: Transaction,
  { sessions, clock, newId }: SessionServices,
  request: FastifyRequest,
  { accountId, userId, userName, method, issuer }: Beginning,
): Promise<{ secret: Secret; sessionId: string; events: AccountEvent[] }> {
  const events: AccountEvent[] = [];
  const earlier = sessions.readCookie(request.headers.cookie);
  const ended = earlier && (await endSessionBySecret(tx, sessions.digest(earlier)));
  if (ended && ended.account_id === accountId) events.push(buildEndEvent(ended, 'signed in again'));
  else if (ended) {
    const { account_id, user_id: actorId } = ended;
    const source = { accountId: account_id, actorId, actorKind: 'user', requestId: request.id } as const;
    recordEvents(tx, source, [buildEndEvent(ended, 'signed in again')], clock.now(), newId);
  }
  const secret = generateSecret();
  const now = clock.now();
  const sessionId = newId();
  const expiresAt = new Date(now.getTime() + sessions.limits.mostHours * 3_600_000);
  const idleUntil = new Date(
    Math.min(expiresAt.getTime(), now.getTime() + sessions.limits.idleMinutes * 60_000),
  );
  const address = request.ip.slice(0, 64);
  insertSession(tx, {
    account_id: accountId,
    session_id: sessionId,
    user_id: userId,
    secret_digest: sessions.digest(secret.reveal()),
    method,
    identity_issuer_id: issuer?.id ?? null,
    issuer_session: issuer?.session ?? null,
    address,
    user_agent: readUserAgent(request),
    created_at: now,
    idle_until: idleUntil,
    expires_at: expiresAt,
  });
  events.push({
    name: 'signed-in',
    subject: { type: 'user', id: userId, name: userName },
    after: { sessionId, method, address, ...(issuer === undefined ? {} : { issuerName: issuer.name }) },
  });
  return { secret, sessionId, events };
}

/** PostgreSQL cannot store every text that a header may hold. */
function readUserAgent({ headers }: FastifyRequest): string {
  return (headers['user-agent'] ?? '').replaceAll('\0', '').slice(0, mostAgentCharacters).toWellFormed();
}

const attributes = 'Path=/; Secure; HttpOnly; SameSite=Lax';

/** The browser forgets it when it closes; the server ends the session in any case. */
export function setSessionCookie(reply: FastifyReply, { cookieName }: Sessions, secret: Secret): void {
  reply.header('set-cookie', `${cookieName}=${secret.reveal()}; ${attributes}`);
}

export function clearCookie(reply: FastifyReply, name: string): void {
  reply.header('set-cookie', `${name}=; Max-Age=0; ${attributes}`);
}

/** For a value that is needed only while signing in. */
export function setShortCookie(reply: FastifyReply, name: string, value: string, seconds: number): void {
  reply.header('set-cookie', `${name}=${value}; Max-Age=${seconds}; ${attributes}`);
}
