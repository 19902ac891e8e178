/**
 * What the script of the page `/sign-in` calls: the options of each ceremony, and its end. Bodies are forms, because
 * they are short; responses are JSON.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Database, Transaction } from '../../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { noSniffing } from '../../kernel/http/sniffing.ts';
import type { RateLimit } from '../../kernel/security/rate-limit.ts';
import { isSameOrigin } from '../../kernel/security/same-origin.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { readCookie } from '../../kernel/security/sessions.ts';
import {
  beginSession,
  clearCookie,
  type SessionServices,
  setSessionCookie,
  setShortCookie,
} from '../sessions/index.ts';
import {
  createFormOptions,
  findSignedIn,
  isSignInRequest,
  isStorableName,
  readReturnPath,
} from '../sign-in/index.ts';
import {
  algorithms,
  challengeSeconds,
  findParty,
  makeChallenge,
  openChallenge,
  type Party,
  PasskeyRefused,
  readCredentialId,
  sealChallenge,
  verifyNew,
  verifyUse,
} from './ceremony.ts';
import {
  type FoundPasskey,
  insertPasskey,
  lockOwner,
  lockPasskey,
  notePasskeyUse,
  selectKnown,
} from './passkey.store.ts';
import { script, scriptPath } from './passkey-script.ts';

export interface PasskeyServices extends SessionServices {
  database: Database;
  sealer: Sealer;
  rateLimit: RateLimit;
  config: { publicUrl: string };
}

const path = '/sign-in/passkeys';
/** Passkeys of a user. */
const mostPasskeys = 20;
const noStore = { ...noSniffing, 'cache-control': 'no-store' };

export function passkeySignInRoutes({ app }: Endpoints, services: PasskeyServices): void {
  const { database, sealer, sessions, clock, newId, rateLimit, config } = services;
  const cookieName = sessions.cookieName.replace('session', 'passkey');
  const ofForm = createFormOptions(1);

  app.get(scriptPath, (_request, reply) =>
    reply
      .headers({
        ...noSniffing,
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'no-cache',
      })
      .send(script),
  );

  /** Answers refusals, each of which counts against the address. */
  async function serve(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (party: Party) => Promise<object>,
  ): Promise<FastifyReply> {
    reply.headers(noStore);
    try {
      if (!isSameOrigin(request.headers, config.publicUrl))
        throw new PasskeyRefused('The request came from another site.');
      const party = findParty(config.publicUrl);
      if (party === undefined || !isSignInRequest(request, config.publicUrl))
        throw new PasskeyRefused(
          `Passkeys need a host name, over HTTPS or on localhost. The public address is ${config.publicUrl}.`,
        );
      return await reply.send(await work(party));
    } catch (failure) {
      if (!(failure instanceof PasskeyRefused)) throw failure;
      rateLimit.countRefused(request.ip);
      return reply.code(403).send({ reason: failure.message });
    }
  }

  async function requireSignedIn(request: FastifyRequest) {
    const signedIn = await findSignedIn(services, request);
    if (signedIn === undefined) throw new PasskeyRefused('You are not signed in any more.');
    return signedIn;
  }

  app.post(`${path}/registration-options`, ofForm, (request, reply) =>
    serve(request, reply, async ({ id }) => {
      const user = await requireSignedIn(request);
      const { account_id, user_id } = user;
      const known = await database.read(selectKnown, { account_id, user_id });
      requireRoom(known.length);
      const challenge = makeChallenge(clock.now(), user.session_id);
      const { generateRegistrationOptions } = await import('@simplewebauthn/server');
      const options = await generateRegistrationOptions({
        rpName: 'Headgate',
        rpID: id,
        userName: user.user_name,
        userID: new Uint8Array(Buffer.from(user_id)),
        challenge: new Uint8Array(Buffer.from(challenge.challenge, 'base64url')),
        timeout: challengeSeconds * 1_000,
        supportedAlgorithmIDs: algorithms,
        excludeCredentials: known.map(({ credential_id }) => ({ id: credential_id.toString('base64url') })),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      });
      return { options, state: sealChallenge(sealer, challenge) };
    }),
  );

  app.post(`${path}/registrations`, ofForm, (request, reply) =>
    serve(request, reply, async (party) => {
      const user = await requireSignedIn(request);
      const form = readForm(request);
      const now = clock.now();
      const challenge = openChallenge(sealer, form.get('state') ?? '', { now, sessionId: user.session_id });
      const name = form.get('name')?.trim() ?? '';
      if (name === '' || !isStorableName(name))
        throw new PasskeyRefused('Give the passkey a name of at most 255 characters.');
      const made = await verifyNew(form.get('response') ?? '', challenge, party);
      const passkeyId = newId();
      await database.transaction(async (tx) => {
        const of = { account_id: user.account_id, user_id: user.user_id };
        await tx.query(lockOwner, of);
        requireRoom((await tx.query(selectKnown, of)).length);
        // Also one of another account: an authenticator never makes the same id twice.
        tx.onConstraint('passkey_credential_taken', () => {
          throw new PasskeyRefused('This passkey is added already.');
        });
        tx.send(insertPasskey, {
          ...of,
          passkey_id: passkeyId,
          name,
          credential_id: made.credentialId,
          public_key: made.publicKey,
          sign_count: made.signCount,
          transports: made.transports,
          is_synced: made.isSynced,
          created_at: now,
        });
        const subject = { type: 'user', id: user.user_id, name: user.user_name };
        const after = { passkeyId, passkeyName: name, isSynced: made.isSynced };
        record(tx, request, user, [{ name: 'passkey-added', subject, after }]);
      });
      return { passkeyId };
    }),
  );

  app.post(`${path}/options`, ofForm, (request, reply) =>
    serve(request, reply, async ({ id }) => {
      const challenge = makeChallenge(clock.now());
      setShortCookie(reply, cookieName, sealChallenge(sealer, challenge), challengeSeconds);
      return {
        options: {
          challenge: challenge.challenge,
          timeout: challengeSeconds * 1_000,
          rpId: id,
          userVerification: 'required',
          allowCredentials: [],
        },
      };
    }),
  );

  app.post(path, ofForm, (request, reply) =>
    serve(request, reply, async (party) => {
      clearCookie(reply, cookieName);
      const form = readForm(request);
      const response = form.get('response') ?? '';
      const sealed = readCookie(request.headers.cookie, cookieName) ?? '';
      const challenge = openChallenge(sealer, sealed, { now: clock.now(), sessionId: undefined });
      const credentialId = await readCredentialId(response);
      const refused: { found?: FoundPasskey } = {};
      try {
        const secret = await database.transaction(async (tx) => {
          const [found] = await tx.query(lockPasskey, { credential_id: credentialId });
          if (found === undefined) throw new PasskeyRefused('No user has this passkey here.');
          refused.found = found;
          return signIn(tx, request, { found, challenge, party, response });
        });
        setSessionCookie(reply, sessions, secret);
      } catch (failure) {
        if (failure instanceof PasskeyRefused && refused.found !== undefined)
          await recordRefusal(request, refused.found, failure);
        throw failure;
      }
      return { location: readReturnPath(form.get('returnTo') ?? undefined, config.publicUrl) };
    }),
  );

  interface Use {
    found: FoundPasskey;
    challenge: ReturnType<typeof makeChallenge>;
    party: Party;
    response: string;
  }

  async function signIn(
    tx: Transaction,
    request: FastifyRequest,
    { found, challenge, party, response }: Use,
  ) {
    const { account_id: accountId, user_id: userId, user_name: userName } = found;
    const { signCount, isSynced } = await verifyUse(response, challenge, party, found);
    // Each challenge counts once, and none that was made before the last one.
    if (challenge.madeAt <= (found.challenge_at?.getTime() ?? 0))
      throw new PasskeyRefused('The passkey was used in another window meanwhile. Try again.');
    if (!found.active) throw new PasskeyRefused(`The user ${JSON.stringify(userName)} is deactivated.`);
    tx.send(notePasskeyUse, {
      account_id: accountId,
      passkey_id: found.passkey_id,
      sign_count: signCount,
      is_synced: isSynced,
      challenge_at: new Date(challenge.madeAt),
      now: clock.now(),
    });
    const begun = await beginSession(tx, services, request, {
      accountId,
      userId,
      userName,
      method: 'PASSKEY',
    });
    record(tx, request, found, begun.events);
    return begun.secret;
  }

  function record(
    tx: Transaction,
    { id: requestId }: FastifyRequest,
    { account_id: accountId, user_id: actorId }: { account_id: string; user_id: string },
    events: readonly AccountEvent[],
  ): void {
    const source = { accountId, actorId, actorKind: 'user', requestId } as const;
    recordEvents(tx, source, events, clock.now(), newId);
  }

  /** For the Admins: who could not sign in, from where, and why. */
  function recordRefusal(request: FastifyRequest, found: FoundPasskey, failure: PasskeyRefused) {
    const subject = { type: 'user', id: found.user_id, name: found.user_name };
    const after = { passkeyName: found.name, reason: failure.message, address: request.ip };
    const source = {
      accountId: found.account_id,
      actorId: null,
      actorKind: 'system',
      requestId: request.id,
    } as const;
    return database.transaction((tx) =>
      recordEvents(tx, source, [{ name: 'sign-in-refused', subject, after }], clock.now(), newId),
    );
  }
}

/** @throws PasskeyRefused */
function requireRoom(count: number): void {
  if (count >= mostPasskeys)
    throw new PasskeyRefused(`You have ${mostPasskeys} passkeys, the most. Delete one first.`);
}

const readForm = ({ body }: FastifyRequest) => new URLSearchParams(typeof body === 'string' ? body : '');
