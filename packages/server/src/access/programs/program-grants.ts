/**
 * What programs exchange for tokens: a device code (RFC 8628 §3.4), an authorization code with PKCE (RFC 7636), and a
 * refresh token (RFC 6749 §6), which is replaced each time.
 *
 * A refresh token names its session and holds a keyed hash of its own text. So an earlier one is recognized as ours
 * without keeping it: somebody has copied it, and the session ends (RFC 9700 §4.14.2).
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Transaction } from '../../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../../kernel/database/events.ts';
import type { Services } from '../../kernel/endpoint/endpoint.ts';
import { generateSecret, type Sealer } from '../../kernel/security/sealed.ts';
import type { Sessions } from '../../kernel/security/sessions.ts';
import { tokenLifetimeSeconds } from '../../kernel/security/signing-keys.ts';
import { tokenScope } from '../../kernel/security/tokens.ts';
import { buildEndEvent, type EndReason } from '../sessions/index.ts';
import { OAuthRefusal, requireParameter } from './oauth-refusal.ts';
import {
  endProgramSession,
  insertSession,
  lockByCode,
  markUsed,
  recordPoll,
  rotateRefreshToken,
} from './program.store.ts';
import { findProgramName } from './program.ts';

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const slowerBySeconds = 5;

export interface ProgramServices extends Services {
  sessions: Sessions;
}

/** The request of the program. */
export interface ProgramRequest {
  form: URLSearchParams;
  requestId: string;
  address: string;
  userAgent: string;
}

export const digestCode = (sealer: Sealer, code: string) => sealer.digest(code, 'program code');
const digestRefreshToken = (sealer: Sealer, token: string) => sealer.digest(token, 'refresh token');

/** Throws OAuthRefusal. */
export function requireProgram(form: URLSearchParams): string {
  const clientId = requireParameter(form, 'client_id', 255);
  if (findProgramName(clientId) === undefined)
    throw new OAuthRefusal('invalid_client', 'There is no public client of this client_id.', 401);
  return clientId;
}

interface Granted {
  owner: { accountId: string; actorId: string; sessionId: string };
  refreshToken: string;
}

/** The response of the token endpoint. Throws OAuthRefusal. */
export async function grantToProgram(services: ProgramServices, request: ProgramRequest): Promise<object> {
  const clientId = requireProgram(request.form);
  const grantType = request.form.get('grant_type');
  const granted =
    grantType === 'refresh_token'
      ? await refresh(services, request, clientId)
      : await redeem(services, request, clientId, grantType === deviceGrant ? 'DEVICE' : 'CODE');
  const accessToken = await services.tokens.issue({ ...granted.owner, isUser: true, clientId }, 'dpc');
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: tokenLifetimeSeconds,
    scope: tokenScope,
    refresh_token: granted.refreshToken,
  };
}

/** Refusals are results: what they change is kept. */
async function redeem(
  services: ProgramServices,
  request: ProgramRequest,
  clientId: string,
  kind: 'DEVICE' | 'CODE',
): Promise<Granted> {
  const { database, sealer, clock } = services;
  const { form } = request;
  const code = requireParameter(form, kind === 'DEVICE' ? 'device_code' : 'code', 255);
  const verifier = kind === 'CODE' ? requireParameter(form, 'code_verifier', 128) : '';
  const redirect = kind === 'CODE' ? requireParameter(form, 'redirect_uri') : '';
  const result = await database.transaction(async (tx): Promise<Granted | OAuthRefusal> => {
    const now = clock.now();
    const [found] = await tx.query(lockByCode, { code_digest: digestCode(sealer, code), kind });
    if (found === undefined || found.client_id !== clientId)
      return new OAuthRefusal('invalid_grant', 'The code is unknown, or was given to another client.');
    if (found.status === 'USED') {
      if (found.session_id !== null)
        await endSession(tx, services, request.requestId, found.session_id, 'code used twice');
      return new OAuthRefusal(
        'invalid_grant',
        'The code was used before. The session that it gave has ended.',
      );
    }
    if (found.expires_at <= now)
      return kind === 'DEVICE'
        ? new OAuthRefusal('expired_token', 'The device code has expired; ask for a new one.')
        : new OAuthRefusal('invalid_grant', 'The code has expired; begin again.');
    if (kind === 'DEVICE' && found.status !== 'APPROVED') {
      const refusal = refusePoll(found, now);
      const wait = found.interval_seconds + (refusal.error === 'slow_down' ? slowerBySeconds : 0);
      tx.send(recordPoll, { authorization_id: found.authorization_id, interval_seconds: wait, now });
      return refusal;
    }
    if (kind === 'CODE' && found.redirect_uri !== redirect)
      return new OAuthRefusal('invalid_grant', 'redirect_uri is not the one for which the code was given.');
    if (kind === 'CODE' && !matchesChallenge(verifier, found.code_challenge ?? ''))
      return new OAuthRefusal('invalid_grant', 'code_verifier does not match the code_challenge.');
    return begin(tx, services, request, { ...found, clientId });
  });
  if (result instanceof OAuthRefusal) throw result;
  return result;
}

function refusePoll(
  found: { status: string; last_polled_at: Date | null; interval_seconds: number },
  now: Date,
): OAuthRefusal {
  if (found.status === 'DENIED') return new OAuthRefusal('access_denied', 'The person refused the sign-in.');
  const earliest = (found.last_polled_at?.getTime() ?? 0) + found.interval_seconds * 1_000;
  return now.getTime() < earliest
    ? new OAuthRefusal('slow_down', `Poll every ${found.interval_seconds + slowerBySeconds} s at most.`)
    : new OAuthRefusal('authorization_pending', 'Nobody has confirmed the sign-in yet.');
}

function matchesChallenge(verifier: string, challenge: string): boolean {
  const found = createHash('sha256').update(verifier).digest();
  const expected = Buffer.from(challenge, 'base64url');
  return found.length === expected.length && timingSafeEqual(found, expected);
}

async function begin(
  tx: Transaction,
  { sessions, sealer, clock, newId }: ProgramServices,
  { requestId, address, userAgent }: ProgramRequest,
  approved: {
    clientId: string;
    authorization_id: string;
    account_id: string | null;
    user_id: string | null;
    browser_session_id: string | null;
  },
): Promise<Granted | OAuthRefusal> {
  const { account_id: accountId, user_id: userId, browser_session_id: browserSessionId, clientId } = approved;
  const signedOut = new OAuthRefusal('access_denied', 'The person who confirmed has signed out since.');
  if (accountId === null || userId === null || browserSessionId === null) return signedOut;
  const now = clock.now();
  const sessionId = newId();
  const refreshToken = generateRefreshToken(sealer, sessionId);
  const [begun] = await tx.query(insertSession, {
    account_id: accountId,
    session_id: sessionId,
    user_id: userId,
    browser_session_id: browserSessionId,
    client_id: clientId,
    secret_digest: digestRefreshToken(sealer, refreshToken),
    address,
    user_agent: userAgent,
    now,
    idle_until: new Date(now.getTime() + sessions.limits.idleMinutes * 60_000),
    expires_at: new Date(now.getTime() + sessions.limits.mostHours * 3_600_000),
  });
  if (begun === undefined) return signedOut;
  tx.send(markUsed, { authorization_id: approved.authorization_id, session_id: sessionId });
  const event: AccountEvent = {
    name: 'signed-in',
    subject: { type: 'user', id: userId, name: begun.user_name },
    after: { sessionId, method: begun.method, program: clientId, address },
  };
  const source = { accountId, actorId: userId, actorKind: 'user', requestId } as const;
  recordEvents(tx, source, [event], now, newId);
  return { owner: { accountId, actorId: userId, sessionId }, refreshToken };
}

async function refresh(
  services: ProgramServices,
  { form, requestId }: ProgramRequest,
  clientId: string,
): Promise<Granted> {
  const { database, sealer, clock, sessions } = services;
  const token = requireParameter(form, 'refresh_token', 255);
  const sessionId = readRefreshToken(sealer, token);
  const unknown = () =>
    new OAuthRefusal('invalid_grant', 'The refresh token is unknown or has ended; sign in again.');
  if (sessionId === undefined) throw unknown();
  const result = await database.transaction(async (tx): Promise<Granted | OAuthRefusal> => {
    const now = clock.now();
    const refreshToken = generateRefreshToken(sealer, sessionId);
    const [row] = await tx.query(rotateRefreshToken, {
      secret_digest: digestRefreshToken(sealer, token),
      next_digest: digestRefreshToken(sealer, refreshToken),
      client_id: clientId,
      now,
      idle_until: new Date(now.getTime() + sessions.limits.idleMinutes * 60_000),
    });
    if (row !== undefined) {
      const owner = { accountId: row.account_id, actorId: row.user_id, sessionId };
      return { owner, refreshToken };
    }
    await endSession(tx, services, requestId, sessionId, 'refresh token used twice');
    return unknown();
  });
  if (result instanceof OAuthRefusal) throw result;
  return result;
}

/** Of a program, if it has not ended yet. */
export async function endSession(
  tx: Transaction,
  { clock, newId }: Pick<ProgramServices, 'clock' | 'newId'>,
  requestId: string,
  sessionId: string,
  reason: EndReason,
): Promise<void> {
  const [ended] = await tx.query(endProgramSession, { session_id: sessionId });
  if (ended === undefined) return;
  const source = {
    accountId: ended.account_id,
    actorId: ended.user_id,
    actorKind: 'user',
    requestId,
  } as const;
  recordEvents(tx, source, [buildEndEvent(ended, reason)], clock.now(), newId);
}

const refreshForm = /^hgr_([0-9a-f-]{36})\.([\w-]{43})\.([\w-]{43})$/;
const stampPurpose = 'stamp of a refresh token';

function generateRefreshToken(sealer: Sealer, sessionId: string): string {
  const text = `hgr_${sessionId}.${generateSecret().reveal()}`;
  return `${text}.${sealer.digest(text, stampPurpose).toString('base64url')}`;
}

/** The session of a refresh token that this server gave, also of an earlier one. */
export function readRefreshToken(sealer: Sealer, token: string): string | undefined {
  const [, sessionId, secret, stamp] = refreshForm.exec(token) ?? [];
  if (sessionId === undefined || stamp === undefined) return undefined;
  const isOurs = sealer.matches(`hgr_${sessionId}.${secret}`, stampPurpose, Buffer.from(stamp, 'base64url'));
  return isOurs ? sessionId : undefined;
}
