/** The pages of signing in by a link, of choosing an issuer, and of signing out. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Transaction } from '../../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { html } from '../../kernel/http/html.ts';
import { noSniffing } from '../../kernel/http/sniffing.ts';
import { isSameOrigin } from '../../kernel/security/same-origin.ts';
import { findEnabledIssuer, findOfferedIssuers } from '../identity-issuers/index.ts';
import {
  beginSession,
  buildEndEvent,
  clearCookie,
  endSessionBySecret,
  setSessionCookie,
} from '../sessions/index.ts';
import { administratorName, ensureAdministrator } from './administrator.ts';
import { type IssuerSignInServices, issuerSignInRoutes } from './issuer-sign-in.routes.ts';
import {
  createFormOptions,
  pageHeaders,
  renderButton,
  renderNewPasskey,
  renderPasskey,
  sendElsewhere,
  sendPage,
  sendUnavailable,
  style,
  stylePath,
} from './sign-in.page.ts';
import { isLoopbackRequest, isSignInRequest, readReturnPath } from './sign-in-address.ts';
import { linkPath } from './sign-in-link.routes.ts';
import { findLinkParameters, type LinkRow, linkForm, selectLink, takeLink } from './sign-in-link.store.ts';
import { findSignedIn, isStorableName } from './signed-in.ts';

export function signInRoutes(endpoints: Endpoints, services: IssuerSignInServices): void {
  const { app } = endpoints;
  const { database, sealer, sessions, clock, newId, rateLimit, config } = services;
  issuerSignInRoutes(endpoints, services);

  app.get(stylePath, (_request, reply) =>
    reply
      .headers({ ...noSniffing, 'content-type': 'text/css; charset=utf-8', 'cache-control': 'no-cache' })
      .send(style),
  );

  app.get('/sign-in', async (request, reply) => {
    if (!isSignInRequest(request, config.publicUrl)) return sendUnavailable(reply, 0, config.publicUrl);
    const user = await findSignedIn(services, request);
    if (user !== undefined)
      return sendPage(
        reply,
        { title: 'You are signed in', depth: 0 },
        html`<p>You are <b>${user.user_name}</b> in the account <b>${user.account_name}</b>.</p>
${renderButton('sign-out', 'Sign out')}
${renderNewPasskey()}
<p><a href="docs">Documentation</a></p>`,
      );
    const { account, returnTo } = request.query as { account?: unknown; returnTo?: unknown };
    const name = typeof account === 'string' && isStorableName(account) ? account : undefined;
    const issuers = await findOfferedIssuers(database.read, name);
    if (issuers === undefined) {
      // An unknown name looks like one without issuers, so that names of accounts cannot be found out.
      if (name === undefined) return sendAccountForm(reply);
      return sendWithoutIssuers(reply);
    }
    if (issuers.length === 0) return sendWithoutIssuers(reply);
    const path = readReturnPath(typeof returnTo === 'string' ? returnTo : undefined, config.publicUrl);
    const query = `returnTo=${encodeURIComponent(path)}`;
    const links = issuers.map(
      ({ id, name: label }) =>
        html`<li><a class="button" href="sign-in/issuers/${id}?${query}">Continue with ${label}</a></li>`,
    );
    return sendPage(reply, { title: 'Sign in', depth: 0 }, html`<ul>${links}</ul>${renderPasskey()}`);
  });

  async function findLink(request: LinkRequest): Promise<LinkRow | undefined> {
    const { secret } = request.params;
    const [row] = linkForm.test(secret)
      ? await database.read(selectLink, findLinkParameters(sealer, secret, clock.now()))
      : [];
    if (row !== undefined && (!row.of_loopback || isLoopbackRequest(request))) return row;
    rateLimit.countRefused(request.ip);
    return undefined;
  }

  // Opening the link changes nothing, because scanners of mail open every link.
  app.get(`${linkPath}/:secret`, async (request: LinkRequest, reply) => {
    if (!isSignInRequest(request, config.publicUrl)) return sendUnavailable(reply, 2, config.publicUrl);
    const link = await findLink(request);
    if (link === undefined) return sendUnusable(reply);
    const name = link.user_name ?? administratorName;
    return sendPage(
      reply,
      { title: 'Sign in', depth: 2 },
      html`<p>This link signs you in once as <b>${name}</b> in the account <b>${link.account_name}</b>.</p>
${renderButton('', `Sign in as ${name}`)}`,
    );
  });

  const ofForm = createFormOptions(2);

  app.post(`${linkPath}/:secret`, ofForm, async (request: LinkRequest, reply) => {
    // Another site could sign a visitor in as somebody else.
    if (!isSameOrigin(request.headers, config.publicUrl)) return sendElsewhere(reply, 2);
    if (!isSignInRequest(request, config.publicUrl)) return sendUnavailable(reply, 2, config.publicUrl);
    if ((await findLink(request)) === undefined) return sendUnusable(reply);
    const parameters = findLinkParameters(sealer, request.params.secret, clock.now());
    const secret = await database.transaction(async (tx) => {
      const [link] = await tx.query(takeLink, parameters);
      if (link === undefined) return undefined;
      const { account_id: accountId } = link;
      const user = await findUserOf(tx, link);
      if (user?.active !== true) return undefined;
      const { user_id: userId, user_name: userName } = user;
      const begun = await beginSession(tx, services, request, {
        accountId,
        userId,
        userName,
        method: 'LINK',
      });
      record(tx, request, { accountId, userId }, [...user.events, ...begun.events]);
      return begun.secret;
    });
    if (secret === undefined) return sendUnusable(reply);
    setSessionCookie(reply, sessions, secret);
    return reply.headers(pageHeaders).redirect('../../sign-in', 303);
  });

  async function findUserOf(tx: Transaction, { account_id, user_id, user_name, active }: LinkRow) {
    if (user_id === null) return ensureAdministrator(tx, account_id, { now: clock.now(), newId });
    return user_name === null || active === null ? undefined : { user_id, user_name, active, events: [] };
  }

  app.post('/sign-out', ofForm, async (request, reply) => {
    if (!isSameOrigin(request.headers, config.publicUrl)) return sendElsewhere(reply, 0);
    clearCookie(reply, sessions.cookieName);
    const secret = sessions.readCookie(request.headers.cookie);
    const ended = secret && (await endSession(request, sessions.digest(secret)));
    const issuerId = ended ? ended.identity_issuer_id : null;
    const issuer = issuerId === null ? undefined : await findEnabledIssuer(database.read, issuerId);
    const logout = issuer && (await services.openid.findLogout(issuer));
    const elsewhere =
      logout === undefined || issuer === undefined
        ? undefined
        : html`<p><a href="${logout}">Sign out of ${issuer.name} too</a></p>`;
    return sendPage(
      reply,
      { title: 'You are signed out', depth: 0 },
      html`<p><a class="button" href="sign-in">Sign in again</a></p>${elsewhere}`,
    );
  });

  async function endSession(request: FastifyRequest, secretDigest: Buffer) {
    return database.transaction(async (tx) => {
      const ended = await endSessionBySecret(tx, secretDigest);
      if (ended === undefined) return undefined;
      const { account_id: accountId, user_id: userId } = ended;
      record(tx, request, { accountId, userId }, [buildEndEvent(ended, 'signed out')]);
      return ended;
    });
  }

  function record(
    tx: Transaction,
    { id: requestId }: FastifyRequest,
    { accountId, userId }: { accountId: string; userId: string },
    events: readonly AccountEvent[],
  ): void {
    const source = { accountId, actorId: userId, actorKind: 'user', requestId } as const;
    recordEvents(tx, source, events, clock.now(), newId);
  }
}

type LinkRequest = FastifyRequest<{ Params: { secret: string } }>;

function sendAccountForm(reply: FastifyReply): FastifyReply {
  return sendPage(
    reply,
    { title: 'Sign in', depth: 0 },
    html`<form method="get" action="sign-in"><label for="account">Name of your account</label>
<input id="account" name="account" required maxlength="255" autocomplete="organization"><button>Continue</button></form>${renderPasskey()}`,
  );
}

function sendWithoutIssuers(reply: FastifyReply): FastifyReply {
  return sendPage(
    reply,
    { title: 'Sign in', depth: 0 },
    html`<p>No identity issuer is set up here. Ask an administrator for a sign-in link. On the machine of the server,
<code>npm run sign-in-link</code> prints one.</p>${renderPasskey()}`,
  );
}

function sendUnusable(reply: FastifyReply): FastifyReply {
  return sendPage(
    reply,
    { status: 404, title: 'This link cannot be used', depth: 2 },
    html`<p>It was used, has expired, or a later link replaced it. Ask for a new one.</p>`,
  );
}
