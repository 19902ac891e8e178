/**
 * The pages on which a person confirms that a program may act as them, and the request of a device code.
 * RFC 8628 (device flow), RFC 8252 (programs on this machine), RFC 7636 (PKCE), RFC 9207 (the issuer in the answer).
 */
import { randomInt } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { recordEvents } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { html } from '../../kernel/http/html.ts';
import { cutLateBody } from '../../kernel/http/late-body.ts';
import { Problem } from '../../kernel/http/problems.ts';
import { buildAddressKey } from '../../kernel/security/address-key.ts';
import { isSameOrigin } from '../../kernel/security/same-origin.ts';
import { generateSecret } from '../../kernel/security/sealed.ts';
import { createThrottle } from '../../kernel/security/throttle.ts';
import { isSignInRequest, sendPage } from '../sign-in/index.ts';
import { OAuthRefusal } from './oauth-refusal.ts';
import {
  type Person,
  sendCodeForm,
  sendConfirmation,
  sendElsewhere,
  sendTooMany,
  sendToSignIn,
  sendUnknownCode,
  sendUnusable,
} from './program.page.ts';
import {
  countWaiting,
  decideByUserCode,
  insertAuthorization,
  selectByUserCode,
  selectPerson,
} from './program.store.ts';
import {
  findProgramName,
  generateUserCode,
  isLoopbackRedirect,
  readUserCode,
  showUserCode,
} from './program.ts';
import { digestCode, type ProgramServices, requireProgram } from './program-grants.ts';

export interface ProgramPageServices extends ProgramServices {
  config: { publicUrl: string };
}

export const devicePath = '/oauth/device_authorization';
export const authorizePath = '/oauth/authorize';
const pagePath = '/device';
const codeSeconds = 60;
const deviceSeconds = 600;
const intervalSeconds = 5;
/** Device codes of one address that wait. */
const mostWaiting = 20;
const formType = 'application/x-www-form-urlencoded';
const formMilliseconds = 10_000;
const longestState = 1_000;

type Query = Record<string, unknown>;

export function programRoutes({ app }: Endpoints, services: ProgramPageServices): void {
  const { database, sealer, sessions, clock, newId, config } = services;
  const throttle = createThrottle(clock);
  const issuer = services.tokens.issuer;

  async function findPerson({ headers }: FastifyRequest): Promise<Person | undefined> {
    const secret = sessions.readCookie(headers.cookie);
    if (secret === undefined) return undefined;
    try {
      const owner = await sessions.findOwner(secret);
      const of = { account_id: owner.accountId, session_id: owner.sessionId ?? '', now: clock.now() };
      const [person] = await database.read(selectPerson, of);
      return person;
    } catch (failure) {
      if (failure instanceof Problem && failure.code === 'session-invalid') return undefined;
      throw failure;
    }
  }

  const findPause = ({ ip }: FastifyRequest, { user_id: clientId }: Person) =>
    Math.max(throttle.getAddressPause(ip), throttle.getPairPause({ address: ip, clientId }));

  function countGuess({ ip: address }: FastifyRequest, { user_id: clientId }: Person, text: string): void {
    throttle.recordFailure({ address, clientId, guess: digestCode(sealer, text) });
  }

  const cut = cutLateBody(formMilliseconds, (reply) => {
    sendPage(reply, { status: 408, title: 'The form did not arrive in time', depth: 1 }, html``);
  });
  const ofForm = { bodyLimit: 16_384, onRequest: cut, config: { bodyType: formType } };

  app.post(devicePath, ofForm, async (request, reply) => {
    reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' });
    try {
      const form = new URLSearchParams(typeof request.body === 'string' ? request.body : '');
      return await startDevice(request, requireProgram(form));
    } catch (failure) {
      if (!(failure instanceof OAuthRefusal)) throw failure;
      reply.code(failure.status).headers(failure.headers);
      return { error: failure.error, error_description: failure.message };
    }
  });

  async function startDevice(request: FastifyRequest, clientId: string): Promise<object> {
    const now = clock.now();
    const address = buildAddressKey(request.ip);
    const [counted] = await database.read(countWaiting, { address, now });
    if ((counted?.count ?? 0) >= mostWaiting)
      throw new OAuthRefusal(
        'temporarily_unavailable',
        `${mostWaiting} sign-ins of this address wait; confirm or end them first.`,
        429,
        { 'retry-after': String(deviceSeconds) },
      );
    const [deviceCode, userCode] = [generateSecret().reveal(), generateUserCode(randomInt)];
    await database.read(insertAuthorization, {
      ...buildAuthorization(request, clientId, now, deviceSeconds),
      address,
      kind: 'DEVICE',
      status: 'PENDING',
      code_digest: digestCode(sealer, deviceCode),
      user_code_digest: digestCode(sealer, userCode),
      redirect_uri: null,
      code_challenge: null,
      account_id: null,
      user_id: null,
      browser_session_id: null,
    });
    const shown = showUserCode(userCode);
    return {
      device_code: deviceCode,
      user_code: shown,
      verification_uri: issuer + pagePath,
      verification_uri_complete: `${issuer}${pagePath}?user_code=${shown}`,
      expires_in: deviceSeconds,
      interval: intervalSeconds,
    };
  }

  function buildAuthorization(request: FastifyRequest, clientId: string, now: Date, seconds: number) {
    return {
      authorization_id: newId(),
      client_id: clientId,
      address: buildAddressKey(request.ip),
      user_agent: readUserAgent(request),
      interval_seconds: intervalSeconds,
      created_at: now,
      expires_at: new Date(now.getTime() + seconds * 1_000),
    };
  }

  app.get(pagePath, async (request, reply) => {
    if (!isSignInRequest(request, config.publicUrl)) return sendUnusable(reply, 0, 'Open it over HTTPS.');
    const person = await findPerson(request);
    if (person === undefined) return sendToSignIn(reply, request, '');
    const { user_code: text } = request.query as Query;
    if (text === undefined) return sendCodeForm(reply);
    return showDevice(request, reply, person, text);
  });

  /** A known code, or a page that says why not. Guesses slow down their person and their address. */
  async function showDevice(request: FastifyRequest, reply: FastifyReply, person: Person, text: unknown) {
    const pause = findPause(request, person);
    if (pause > 0) return sendTooMany(reply, pause);
    const code = readUserCode(text);
    const [found] =
      code === undefined
        ? []
        : await database.read(selectByUserCode, {
            user_code_digest: digestCode(sealer, code),
            now: clock.now(),
          });
    if (code === undefined || found === undefined) {
      countGuess(request, person, String(text));
      return sendUnknownCode(reply);
    }
    const details = html`<p>The program shows this code: <b>${showUserCode(code)}</b>. It asked from
<b>${found.address}</b>. If you did not start it yourself, refuse: somebody may want to act as you.</p>`;
    const fields = { user_code: code };
    return sendConfirmation(reply, person, { clientId: found.client_id, details, fields, action: 'device' });
  }

  app.post(pagePath, ofForm, async (request, reply) => {
    if (!isSameOrigin(request.headers, config.publicUrl)) return sendElsewhere(reply, 0);
    const person = await findPerson(request);
    if (person === undefined) return sendToSignIn(reply, request, '');
    const pause = findPause(request, person);
    if (pause > 0) return sendTooMany(reply, pause);
    const form = new URLSearchParams(typeof request.body === 'string' ? request.body : '');
    const code = readUserCode(form.get('user_code'));
    const isApproved = form.get('decision') === 'allow';
    const [decided] =
      code === undefined
        ? []
        : await database.read(decideByUserCode, {
            user_code_digest: digestCode(sealer, code),
            status: isApproved ? 'APPROVED' : 'DENIED',
            account_id: person.account_id,
            user_id: person.user_id,
            browser_session_id: person.session_id,
            now: clock.now(),
          });
    if (decided === undefined) {
      countGuess(request, person, form.get('user_code') ?? '');
      return sendUnknownCode(reply);
    }
    if (!isApproved) await recordRefusal(request, person, decided.client_id);
    const title = isApproved ? 'The program is signed in' : 'You have refused';
    return sendPage(reply, { title, depth: 0 }, html`<p>You can close this page.</p>`);
  });

  async function recordRefusal(request: FastifyRequest, person: Person, program: string): Promise<void> {
    const { account_id: accountId, user_id: actorId, user_name: name } = person;
    const source = { accountId, actorId, actorKind: 'user', requestId: request.id } as const;
    const subject = { type: 'user', id: actorId, name };
    const after = { reason: 'The person refused the program.', program };
    await database.transaction(async (tx) =>
      recordEvents(tx, source, [{ name: 'sign-in-refused', subject, after }], clock.now(), newId),
    );
  }

  app.get(authorizePath, async (request, reply) => {
    if (!isSignInRequest(request, config.publicUrl)) return sendUnusable(reply, 1, 'Open it over HTTPS.');
    const asked = readAuthorization(request.query as Query);
    if ('unusable' in asked) return sendUnusable(reply, 1, asked.unusable);
    if (asked.error !== undefined) return sendBack(reply, asked, { error: asked.error });
    const person = await findPerson(request);
    if (person === undefined) return sendToSignIn(reply, request, '../');
    const { clientId, redirectUri, challenge, state } = asked;
    const details = html`<p>The answer goes to <b>${new URL(redirectUri).origin}</b> on this machine. If you did not start
the program yourself, refuse: somebody may want to act as you.</p>`;
    const fields = {
      client_id: clientId,
      redirect_uri: redirectUri,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      response_type: 'code',
      ...(state === undefined ? {} : { state }),
    };
    return sendConfirmation(reply, person, { clientId, details, fields, action: 'authorize' });
  });

  app.post(authorizePath, ofForm, async (request, reply) => {
    if (!isSameOrigin(request.headers, config.publicUrl)) return sendElsewhere(reply, 1);
    const form = new URLSearchParams(typeof request.body === 'string' ? request.body : '');
    const asked = readAuthorization(Object.fromEntries(form));
    if ('unusable' in asked) return sendUnusable(reply, 1, asked.unusable);
    const person = await findPerson(request);
    if (person === undefined) return sendUnusable(reply, 1, 'You are signed out. Sign in, and begin again.');
    if (asked.error !== undefined) return sendBack(reply, asked, { error: asked.error });
    if (form.get('decision') !== 'allow') {
      await recordRefusal(request, person, asked.clientId);
      return sendBack(reply, asked, { error: 'access_denied' });
    }
    const code = generateSecret().reveal();
    const now = clock.now();
    await database.read(insertAuthorization, {
      ...buildAuthorization(request, asked.clientId, now, codeSeconds),
      kind: 'CODE',
      status: 'APPROVED',
      code_digest: digestCode(sealer, code),
      user_code_digest: null,
      redirect_uri: asked.redirectUri,
      code_challenge: asked.challenge,
      account_id: person.account_id,
      user_id: person.user_id,
      browser_session_id: person.session_id,
    });
    return sendBack(reply, asked, { code });
  });

  /** By a page, because browsers apply `form-action` to redirects too. RFC 9207: `iss` says who answers. */
  function sendBack(
    reply: FastifyReply,
    { redirectUri, state }: Asked,
    answer: Record<string, string>,
  ): FastifyReply {
    const url = new URL(redirectUri);
    for (const [name, value] of Object.entries({ ...answer, iss: issuer })) url.searchParams.set(name, value);
    if (state !== undefined) url.searchParams.set('state', state);
    reply.header('refresh', `0; url=${url.href}`);
    const content = html`<p><a class="button" href="${url.href}">Return to the program</a></p>`;
    return sendPage(reply, { title: 'Return to the program', depth: 1 }, content);
  }
}

interface Asked {
  clientId: string;
  redirectUri: string;
  challenge: string;
  state: string | undefined;
  error: 'invalid_request' | 'unsupported_response_type' | undefined;
}

/** Without a known client and its address, nothing is sent anywhere. */
function readAuthorization(query: Query): Asked | { unusable: string } {
  const read = (name: string) => {
    const value = query[name];
    return typeof value === 'string' ? value : '';
  };
  const [clientId, redirectUri, state] = [read('client_id'), read('redirect_uri'), read('state')];
  if (findProgramName(clientId) === undefined) return { unusable: 'The program is unknown.' };
  if (!isLoopbackRedirect(redirectUri))
    return { unusable: 'redirect_uri must be http://127.0.0.1 or http://[::1], with any port and path.' };
  const challenge = read('code_challenge');
  const hasChallenge = read('code_challenge_method') === 'S256' && /^[\w-]{43}$/.test(challenge);
  const isCode = read('response_type') === 'code';
  const ofState = state.length > longestState ? 'invalid_request' : undefined;
  const error = isCode ? (hasChallenge ? ofState : 'invalid_request') : 'unsupported_response_type';
  return {
    clientId,
    redirectUri,
    challenge,
    state: state === '' || state.length > longestState ? undefined : state,
    error,
  };
}

export function readUserAgent({ headers }: FastifyRequest): string {
  return (headers['user-agent'] ?? '').replaceAll('\0', '').slice(0, 255).toWellFormed();
}
