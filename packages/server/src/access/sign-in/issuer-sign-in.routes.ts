/** Signing in at an identity issuer, and signing out there. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Database, Transaction } from '../../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { html } from '../../kernel/http/html.ts';
import { cutLateBody } from '../../kernel/http/late-body.ts';
import type { Log } from '../../kernel/log.ts';
import type { RateLimit } from '../../kernel/security/rate-limit.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import {
  type Claims,
  findEnabledIssuer,
  holdIssuer,
  IssuerFailed,
  type IssuerOfAccount,
  type OpenidClient,
} from '../identity-issuers/index.ts';
import {
  beginSession,
  buildEndEvent,
  clearCookie,
  endSessionsOfIssuer,
  type SessionServices,
  setSessionCookie,
  setShortCookie,
} from '../sessions/index.ts';
import { followGroupsClaim } from './claimed-groups.ts';
import { namePendingCookie, openPending, pendingSeconds, sealPending } from './pending-sign-in.ts';
import { findPerson, findUserBySubject, isStorable, PersonRefused } from './person.ts';
import { sendPage, sendUnavailable } from './sign-in.page.ts';
import { isSignInRequest, readReturnPath } from './sign-in-address.ts';

export interface IssuerSignInServices extends SessionServices {
  database: Database;
  sealer: Sealer;
  rateLimit: RateLimit;
  log: Log;
  openid: OpenidClient;
  config: { publicUrl: string };
}

const path = '/sign-in/issuers/:issuerId';
/** Of pages at `/sign-in/issuers/{id}/callback`. */
const depth = 3;
const formBytes = 65_536;
const formMilliseconds = 10_000;
type IssuerRequest = FastifyRequest<{ Params: { issuerId: string } }>;

export function issuerSignInRoutes({ app }: Endpoints, services: IssuerSignInServices): void {
  const { database, sealer, sessions, clock, rateLimit, log, openid, config } = services;
  const pendingCookie = namePendingCookie(sessions.cookieName);

  async function findIssuer({ params, ip }: IssuerRequest): Promise<IssuerOfAccount | undefined> {
    const issuer = await findEnabledIssuer(database.read, params.issuerId);
    if (issuer === undefined) rateLimit.countRefused(ip);
    return issuer;
  }

  app.get(path, async (request: IssuerRequest, reply) => {
    if (!isSignInRequest(request, config.publicUrl)) return sendUnavailable(reply, 2, config.publicUrl);
    const issuer = await findIssuer(request);
    if (issuer === undefined) return sendUnknown(reply, 2);
    // Another site could sign a visitor in to an account of its own.
    const site = request.headers['sec-fetch-site'];
    if (site === 'cross-site' || site === 'same-site') return sendConfirmation(reply, issuer, request);
    try {
      const { url, pending } = await openid.begin(issuer);
      const { returnTo } = request.query as { returnTo?: unknown };
      const returnPath = readReturnPath(
        typeof returnTo === 'string' ? returnTo : undefined,
        config.publicUrl,
      );
      const until = clock.now().getTime() + pendingSeconds * 1_000;
      const value = sealPending(sealer, {
        ...pending,
        issuerId: issuer.identity_issuer_id,
        returnPath,
        until,
      });
      setShortCookie(reply, pendingCookie, value, pendingSeconds);
      return reply.header('cache-control', 'no-store').redirect(url.href, 303);
    } catch (failure) {
      if (!(failure instanceof IssuerFailed)) throw failure;
      return sendFailure(reply, 2, 502, `${issuer.name} cannot be used now. ${failure.message}`);
    }
  });

  app.get(`${path}/callback`, async (request: IssuerRequest, reply) => {
    clearCookie(reply, pendingCookie);
    const pending = openPending(sealer, request.headers.cookie, pendingCookie, clock.now());
    const issuer = await findIssuer(request);
    if (issuer === undefined) return sendUnknown(reply, depth);
    if (pending?.issuerId !== issuer.identity_issuer_id) {
      rateLimit.countRefused(request.ip);
      return sendFailure(
        reply,
        depth,
        400,
        'This browser did not ask to sign in, or took longer than 15 minutes. Begin again.',
      );
    }
    try {
      // Counted first: each attempt costs a request to the issuer.
      rateLimit.countRefused(request.ip);
      const callback = new URL(`${config.publicUrl}/sign-in/issuers/${pending.issuerId}/callback`);
      callback.search = new URL(request.url, callback).search;
      const claims = await openid.finish(issuer, callback, pending);
      const secret = await signIn(services, request, issuer, claims);
      setSessionCookie(reply, sessions, secret);
      // Relative, so that it works behind a proxy.
      return reply
        .header('cache-control', 'no-store')
        .redirect(`${'../'.repeat(depth)}${pending.returnPath.slice(1)}`, 303);
    } catch (failure) {
      if (!(failure instanceof IssuerFailed || failure instanceof PersonRefused)) throw failure;
      log.warn({ issuer: issuer.issuer, reason: failure.message }, 'a sign-in was refused');
      // What is not from the issuer may be a stranger's.
      if (failure instanceof PersonRefused) await recordRefusal(services, request, issuer, failure);
      return sendFailure(reply, depth, failure instanceof PersonRefused ? 403 : 400, failure.message);
    }
  });

  const cut = cutLateBody(formMilliseconds, (reply) => {
    reply.code(408).send({ error: 'invalid_request', error_description: 'The form did not arrive in time.' });
  });
  const ofForm = {
    bodyLimit: formBytes,
    onRequest: cut,
    config: { bodyType: 'application/x-www-form-urlencoded' },
  };

  // OpenID Connect Back-Channel Logout 1.0 §2.8: no body and no cache, or 400 with an error of OAuth.
  app.post(`${path}/back-channel-logout`, ofForm, async (request: IssuerRequest, reply) => {
    reply.header('cache-control', 'no-store');
    const issuer = await findIssuer(request);
    if (issuer !== undefined) rateLimit.countRefused(request.ip);
    const form = new URLSearchParams(typeof request.body === 'string' ? request.body : '');
    try {
      if (issuer === undefined) throw new IssuerFailed('There is no such issuer.');
      const { subject, session, issuedAt } = await openid.verifyLogout(
        issuer,
        form.get('logout_token') ?? '',
      );
      await database.transaction(async (tx) => {
        const userId = subject === undefined ? undefined : await findUserBySubject(tx, issuer, subject);
        // A person who never signed in has no sessions.
        if (subject !== undefined && userId === undefined) return;
        const only = { userId, issuerSession: session, before: issuedAt };
        const ended = await endSessionsOfIssuer(tx, issuer, only);
        const events = ended.map((each) => buildEndEvent(each, 'signed out at the issuer'));
        record(services, tx, request, issuer.account_id, null, events);
      });
      return await reply.code(200).send();
    } catch (failure) {
      if (!(failure instanceof IssuerFailed)) throw failure;
      return reply.code(400).send({ error: 'invalid_request', error_description: failure.message });
    }
  });
}

/** Throws PersonRefused, and IssuerFailed if the issuer was changed meanwhile. */
function signIn(
  services: IssuerSignInServices,
  request: FastifyRequest,
  issuer: IssuerOfAccount,
  claims: Claims,
) {
  const { database, clock, newId } = services;
  return database.transaction(async (tx) => {
    if (!(await holdIssuer(tx, issuer)))
      throw new IssuerFailed('The settings of the issuer were changed just now. Begin again.');
    const now = clock.now();
    const person = await findPerson(tx, issuer, claims, { now, newId });
    const ofGroups = await followGroupsClaim(tx, issuer, claims, person, now);
    const { secret, events } = await beginSession(tx, services, request, {
      accountId: issuer.account_id,
      userId: person.userId,
      userName: person.userName,
      method: 'ISSUER',
      issuer: {
        id: issuer.identity_issuer_id,
        name: issuer.name,
        session: typeof claims.sid === 'string' && isStorable(claims.sid) ? claims.sid : undefined,
      },
    });
    record(services, tx, request, issuer.account_id, person.userId, [
      ...person.events,
      ...ofGroups,
      ...events,
    ]);
    return secret;
  });
}

function record(
  { clock, newId }: SessionServices,
  tx: Transaction,
  { id: requestId }: FastifyRequest,
  accountId: string,
  userId: string | null,
  events: readonly AccountEvent[],
): void {
  const source = {
    accountId,
    actorId: userId,
    actorKind: userId === null ? 'system' : 'user',
    requestId,
  } as const;
  recordEvents(tx, source, events, clock.now(), newId);
}

/** For the Admins: who could not sign in, from where, and why. */
async function recordRefusal(
  services: IssuerSignInServices,
  request: FastifyRequest,
  issuer: IssuerOfAccount,
  failure: PersonRefused,
): Promise<void> {
  const subject =
    failure.userId === undefined
      ? { type: 'identity-issuer', id: issuer.identity_issuer_id, name: issuer.name }
      : { type: 'user', id: failure.userId, name: failure.userName };
  const after = { issuerName: issuer.name, reason: failure.message, address: request.ip };
  await services.database.transaction((tx) =>
    record(services, tx, request, issuer.account_id, null, [{ name: 'sign-in-refused', subject, after }]),
  );
}

function sendConfirmation(
  reply: FastifyReply,
  { name }: IssuerOfAccount,
  { url }: FastifyRequest,
): FastifyReply {
  const address = `../../${url.replace(/^\/+/, '')}`;
  return sendPage(
    reply,
    { title: 'Sign in', depth: 2 },
    html`<p>Another site wants to sign you in at ${name}.</p>
<p><a class="button" href="${address}">Continue with ${name}</a></p>`,
  );
}

function sendUnknown(reply: FastifyReply, depthOfPage: number): FastifyReply {
  return sendFailure(reply, depthOfPage, 404, 'There is no such identity issuer, or it is disabled.');
}

function sendFailure(reply: FastifyReply, depthOfPage: number, status: number, reason: string): FastifyReply {
  const back = `${'../'.repeat(depthOfPage)}sign-in`;
  return sendPage(
    reply,
    { status, title: 'You are not signed in', depth: depthOfPage },
    html`<p>${reason}</p><p><a class="button" href="${back}">Back to sign-in</a></p>`,
  );
}
