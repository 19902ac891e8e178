/**
 * The protocol with an identity issuer: OpenID Connect Core 1.0 with the authorization code flow and PKCE (RFC 7636),
 * the issuer in the answer (RFC 9207), and back-channel logout. `openid-client` checks the answers; this file gives it
 * bounded requests and our clock.
 */
import { createRemoteJWKSet, customFetch as joseFetch, jwtVerify } from 'jose';
import type * as Openid from 'openid-client';
import type { Clock } from '../../kernel/clock.ts';
import { type EgressGuard, EgressRefused } from '../../kernel/security/egress.ts';
import { isLoopbackHost } from '../../kernel/security/loopback-host.ts';
import { explainFailure } from '../../kernel/security/outgoing-failure.ts';
import {
  createOutgoingFetch,
  type OutgoingFetch,
  ResponseTooLarge,
} from '../../kernel/security/outgoing-fetch.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { buildCallback, type IssuerOfAccount, unsealClientSecret } from './identity-issuer.store.ts';

const timeoutMilliseconds = 10_000;
const mostBytes = 262_144;
/** How long metadata and keys are remembered. `openid-client` reads the keys again for an unknown key id. */
const rememberedMilliseconds = 600_000;
const mostRemembered = 1_000;
/** Codes of one issuer that are exchanged at the same time. */
const mostExchanges = 16;
/** An issuer that is down is not asked for each request of a stranger. */
const failureMilliseconds = 5_000;
/** Clocks of issuers may be wrong by this much. */
const toleratedSeconds = 300;
/** A logout token is sent at once. */
const longestLogoutSeconds = 600;

interface Opened {
  configuration: Promise<Openid.Configuration>;
  keys: ReturnType<typeof createRemoteJWKSet> | undefined;
  until: number;
  /** Under way. */
  exchanges: number;
}

/** Why the issuer cannot be used, or what it answered is refused: a sentence for people. */
export class IssuerFailed extends Error {}

/** What the browser holds while its user is at the issuer. */
export interface PendingSignIn {
  state: string;
  nonce: string;
  verifier: string;
}

export type Claims = Readonly<Record<string, unknown>>;

export interface LogoutClaims {
  subject: string | undefined;
  session: string | undefined;
  issuedAt: Date;
}

export interface OpenidServices {
  egress: EgressGuard;
  clock: Clock;
  sealer: Sealer;
  config: { publicUrl: string };
  /** More certificate authorities to trust, for tests. */
  ca?: string | undefined;
}

/** The issuer's own settings, without those of the account. */
type IssuerClient = Pick<IssuerOfAccount, 'issuer' | 'client_id'>;

export interface OpenidClient {
  /** Reads the metadata. Throws IssuerFailed. */
  check(issuer: IssuerClient): Promise<void>;
  /** Where to send the browser. Throws IssuerFailed. */
  begin(issuer: IssuerOfAccount): Promise<{ url: URL; pending: PendingSignIn }>;
  /** The claims of the ID token. Throws IssuerFailed. */
  finish(issuer: IssuerOfAccount, callback: URL, pending: PendingSignIn): Promise<Claims>;
  /** Where a user signs out of the issuer too; undefined if the issuer has no such page, or is down. */
  findLogout(issuer: IssuerOfAccount): Promise<string | undefined>;
  /** OpenID Connect Back-Channel Logout 1.0 §2.6. Throws IssuerFailed. */
  verifyLogout(issuer: IssuerOfAccount, token: string): Promise<LogoutClaims>;
}

export function createOpenidClient(services: OpenidServices): OpenidClient {
  const { clock, sealer, config } = services;
  const fetch = createOutgoingFetch({
    guard: services.egress,
    timeoutMilliseconds,
    mostBytes,
    ca: services.ca,
  });
  const remembered = new Map<string, Opened>();

  function open(issuer: IssuerOfAccount): Opened {
    const key = `${issuer.identity_issuer_id} ${issuer.version}`;
    const known = remembered.get(key);
    if (known !== undefined && known.until > Date.now()) return known;
    const secret = unsealClientSecret(sealer, issuer)?.reveal();
    const configuration = discover(fetch, clock, issuer, secret);
    const opened: Opened = {
      configuration,
      keys: undefined,
      exchanges: 0,
      until: Date.now() + rememberedMilliseconds,
    };
    configuration.catch(() => {
      opened.until = Date.now() + failureMilliseconds;
    });
    remembered.delete(key);
    if (remembered.size >= mostRemembered) remembered.delete(remembered.keys().next().value ?? '');
    remembered.set(key, opened);
    return opened;
  }

  async function findKeys(issuer: IssuerOfAccount) {
    const opened = open(issuer);
    const keysAt = (await opened.configuration).serverMetadata().jwks_uri;
    if (keysAt === undefined || !URL.canParse(keysAt)) throw new IssuerFailed('The issuer has no jwks_uri.');
    opened.keys ??= createRemoteJWKSet(new URL(keysAt), {
      timeoutDuration: timeoutMilliseconds,
      [joseFetch]: (url, { method, headers }) => fetch(url, { method, headers: Object.fromEntries(headers) }),
    });
    return opened.keys;
  }

  return {
    async check(issuer) {
      await discover(fetch, clock, issuer, undefined);
    },
    async begin(issuer) {
      const openid = await import('openid-client');
      const configuration = await open(issuer).configuration;
      const verifier = openid.randomPKCECodeVerifier();
      const pending = { state: openid.randomState(), nonce: openid.randomNonce(), verifier };
      const url = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: buildCallback(config.publicUrl, issuer.identity_issuer_id),
        scope: issuer.scopes.join(' '),
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return { url, pending };
    },
    async finish(issuer, callback, { state, nonce, verifier }) {
      const openid = await import('openid-client');
      const opened = open(issuer);
      const configuration = await opened.configuration;
      if (opened.exchanges >= mostExchanges)
        throw new IssuerFailed('Too many people sign in at the same moment. Try again.');
      opened.exchanges += 1;
      try {
        const tokens = await openid.authorizationCodeGrant(configuration, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (claims === undefined) throw new IssuerFailed('The issuer sent no ID token.');
        return claims;
      } catch (failure) {
        throw explain(failure);
      } finally {
        opened.exchanges -= 1;
      }
    },
    async findLogout(issuer) {
      const openid = await import('openid-client');
      try {
        const configuration = await open(issuer).configuration;
        if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
        const back = `${config.publicUrl}/sign-in`;
        return openid.buildEndSessionUrl(configuration, { post_logout_redirect_uri: back }).href;
      } catch {
        return undefined;
      }
    },
    async verifyLogout(issuer, token) {
      const keys = await findKeys(issuer);
      try {
        const { payload } = await jwtVerify(token, keys, {
          issuer: issuer.issuer,
          audience: issuer.client_id,
          currentDate: clock.now(),
          clockTolerance: toleratedSeconds,
          maxTokenAge: longestLogoutSeconds,
          requiredClaims: ['iat', 'jti', 'events'],
        });
        return readLogoutClaims(payload, issuer);
      } catch (failure) {
        throw explain(failure);
      }
    },
  };
}

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

function readLogoutClaims(payload: Claims, { subject_claim: subjectClaim }: IssuerOfAccount): LogoutClaims {
  const { events, nonce, sid, iat } = payload;
  if (typeof events !== 'object' || events === null || !Object.hasOwn(events, logoutEvent))
    throw new IssuerFailed('The token is not a logout token.');
  if (nonce !== undefined) throw new IssuerFailed('A logout token has no nonce.');
  const [subject, session] = [payload[subjectClaim], sid].map((value) =>
    typeof value === 'string' ? value : undefined,
  );
  if (subject === undefined && session === undefined)
    throw new IssuerFailed(`The logout token has neither ${subjectClaim} nor sid.`);
  return { subject, session, issuedAt: new Date((Number(iat) + toleratedSeconds) * 1_000) };
}

async function discover(
  fetch: OutgoingFetch,
  clock: Clock,
  { issuer, client_id }: IssuerClient,
  secret: string | undefined,
): Promise<Openid.Configuration> {
  const openid = await import('openid-client');
  const url = new URL(issuer);
  const skew = Math.round((clock.now().getTime() - Date.now()) / 1_000);
  const client = {
    ...(secret === undefined ? {} : { client_secret: secret }),
    [openid.clockSkew]: skew,
    [openid.clockTolerance]: toleratedSeconds,
  };
  try {
    const configuration = await openid.discovery(
      url,
      client_id,
      client,
      secret === undefined ? openid.None() : undefined,
      {
        timeout: timeoutMilliseconds / 1_000,
        execute: [
          // The signature of the ID token counts, not only the TLS connection that it came by.
          openid.enableNonRepudiationChecks,
          // Plain HTTP never leaves this machine.
          ...(isLoopbackHost(url.hostname) ? [openid.allowInsecureRequests] : []),
        ],
        [openid.customFetch]: (address, { method, headers, body }) =>
          fetch(address, { method, headers, body: body == null ? undefined : String(body) }),
      },
    );
    // An address for all tenants of a provider says `{tenantid}`: anybody could sign in there.
    const found = configuration.serverMetadata().issuer;
    if (found !== issuer)
      throw new IssuerFailed(
        `The metadata are of the issuer ${JSON.stringify(found.slice(0, 200))}; write the issuer exactly so.`,
      );
    return configuration;
  } catch (failure) {
    throw explain(failure);
  }
}

/** The causes of an error of `openid-client` are ours, or of the network. */
function explain(failure: unknown): IssuerFailed {
  if (failure instanceof IssuerFailed) return failure;
  for (let each = failure, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth += 1) {
    if (each instanceof EgressRefused || each instanceof ResponseTooLarge)
      return new IssuerFailed(each.message);
    if (each.name === 'TimeoutError')
      return new IssuerFailed(`The issuer did not answer within ${timeoutMilliseconds / 1_000} s.`);
    if ('errno' in each || 'syscall' in each) return new IssuerFailed(explainFailure(each, 'host'));
  }
  const code = failure instanceof Error && 'error' in failure ? String(failure.error) : '';
  // A stranger may have written it into the address.
  const error = /^[a-z_]{1,60}$/.test(code) ? code : undefined;
  const reason = error ?? (failure instanceof Error ? failure.message : 'unknown');
  return new IssuerFailed(`The issuer's answer is refused: ${reason.slice(0, 200)}.`);
}
