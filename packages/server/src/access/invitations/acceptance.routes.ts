/** The page of an invitation. Opening it changes nothing, because scanners of mail open every link. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Database } from '../../kernel/database/database.ts';
import { recordEvents } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { html } from '../../kernel/http/html.ts';
import type { RateLimit } from '../../kernel/security/rate-limit.ts';
import { isSameOrigin } from '../../kernel/security/same-origin.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { beginSession, type SessionServices, setSessionCookie } from '../sessions/index.ts';
import {
  createFormOptions,
  isSignInRequest,
  linkForm,
  pageHeaders,
  renderButton,
  sendElsewhere,
  sendPage,
  sendUnavailable,
} from '../sign-in/index.ts';
import { AcceptanceRefused, acceptInvitation } from './acceptance.ts';
import { invitationPath } from './invitation.routes.ts';
import {
  type FoundInvitation,
  findInvitationParameters,
  lockInvitation,
  selectInvitation,
} from './invitation.store.ts';

export interface AcceptanceServices extends SessionServices {
  database: Database;
  sealer: Sealer;
  rateLimit: RateLimit;
  config: { publicUrl: string };
}

type InvitationRequest = FastifyRequest<{ Params: { secret: string } }>;
/** Of pages at `/sign-in/invitations/{secret}`. */
const depth = 2;

export function acceptanceRoutes({ app }: Endpoints, services: AcceptanceServices): void {
  const { database, sealer, sessions, clock, newId, rateLimit, config } = services;
  const path = `${invitationPath}/:secret`;

  async function findInvitation({ params, ip }: InvitationRequest): Promise<FoundInvitation | undefined> {
    const [row] = linkForm.test(params.secret)
      ? await database.read(selectInvitation, findInvitationParameters(sealer, params.secret, clock.now()))
      : [];
    if (row === undefined) rateLimit.countRefused(ip);
    return row;
  }

  app.get(path, async (request: InvitationRequest, reply) => {
    if (!isSignInRequest(request, config.publicUrl)) return sendUnavailable(reply, depth, config.publicUrl);
    const invitation = await findInvitation(request);
    if (invitation === undefined) return sendUnusable(reply);
    return sendPage(
      reply,
      { title: 'You are invited', depth },
      html`<p>The account <b>${invitation.account_name}</b> invites you as the user <b>${invitation.user_name}</b>.</p>
${renderButton('', 'Accept and sign in')}`,
    );
  });

  app.post(path, createFormOptions(depth), async (request: InvitationRequest, reply) => {
    if (!isSameOrigin(request.headers, config.publicUrl)) return sendElsewhere(reply, depth);
    if (!isSignInRequest(request, config.publicUrl)) return sendUnavailable(reply, depth, config.publicUrl);
    if ((await findInvitation(request)) === undefined) return sendUnusable(reply);
    try {
      const secret = await accept(request);
      if (secret === undefined) return sendUnusable(reply);
      setSessionCookie(reply, sessions, secret);
      return await reply.headers(pageHeaders).redirect('../../sign-in', 303);
    } catch (failure) {
      if (!(failure instanceof AcceptanceRefused)) throw failure;
      return sendPage(
        reply,
        { status: 409, title: 'The invitation cannot be accepted', depth },
        html`<p>${failure.message}</p>`,
      );
    }
  });

  /** Undefined: somebody else accepted just now. */
  function accept(request: InvitationRequest) {
    const parameters = findInvitationParameters(sealer, request.params.secret, clock.now());
    return database.transaction(async (tx) => {
      const [invitation] = await tx.query(lockInvitation, parameters);
      if (invitation === undefined) return undefined;
      const { account_id: accountId, user_name: userName } = invitation;
      const { userId, events } = await acceptInvitation(tx, invitation, { now: clock.now(), newId });
      const begun = await beginSession(tx, services, request, {
        accountId,
        userId,
        userName,
        method: 'LINK',
      });
      const source = { accountId, actorId: userId, actorKind: 'user', requestId: request.id } as const;
      recordEvents(tx, source, [...events, ...begun.events], clock.now(), newId);
      return begun.secret;
    });
  }
}

function sendUnusable(reply: FastifyReply): FastifyReply {
  return sendPage(
    reply,
    { status: 404, title: 'This invitation cannot be used', depth },
    html`<p>It was accepted, has expired, or was withdrawn. If you accepted it, <a href="../../sign-in">sign in</a>; if
not, ask for another one.</p>`,
  );
}
