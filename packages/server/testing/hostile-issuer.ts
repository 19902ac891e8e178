/**
 * An identity issuer on loopback whose answers are wrong in one or more ways. Each way alone must be enough to refuse
 * the sign-in. What it sends when nothing is wrong is accepted.
 */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';

/** One sign-in: what the issuer sends, and what the browser brings back. */
export interface Exchange {
  header: Record<string, unknown>;
  claims: Record<string, unknown>;
  sign(input: string): Buffer;
  /** The compact ID token, before it is sent. */
  alter(token: string): string;
  respond(response: ServerResponse, token: string): void;
  /** Of the callback. */
  query: URLSearchParams;
  cookie: string;
}

/** What the attacker has beside the exchange. */
export interface Loot {
  /** A token that signed somebody in before. */
  usedToken: string;
  /** The cookie of a sign-in at another issuer of the account. */
  otherCookie: string;
  otherIssuer: string;
  clientSecret: string;
  /** The name of a Super Admin. */
  victim: string;
  /** Epoch seconds, by the clock of the server. */
  now: number;
  pick<Choice>(choices: readonly Choice[]): Choice;
}

type Fault = (exchange: Exchange, loot: Loot) => void;

const curve = { namedCurve: 'P-256' };
const own = generateKeyPairSync('ec', curve);
const attackers = generateKeyPairSync('ec', curve);
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const publicPem = own.publicKey.export({ type: 'spki', format: 'pem' }) as string;
const kid = 'key-1';

const signWith = (key: KeyObject) => (input: string) =>
  sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

const buildTokens = (token: unknown) => ({
  access_token: 'a',
  token_type: 'bearer',
  expires_in: 60,
  id_token: token,
});

const setClaim =
  (name: string, choose: (loot: Loot, before: unknown) => unknown): Fault =>
  ({ claims }, loot) => {
    claims[name] = choose(loot, claims[name]);
  };

const odd = [undefined, null, 0, '', [], {}, true, '\0', 'x'.repeat(5_000)] as const;

/** By the part that they change, so that two of them never undo each other. */
const faults: Record<string, readonly Fault[]> = {
  issuer: [
    setClaim('iss', ({ otherIssuer }) => otherIssuer),
    setClaim('iss', (_, before) => `${String(before)}/`),
    setClaim('iss', (_, before) => String(before).toUpperCase()),
    setClaim('iss', (_, before) => [before]),
    setClaim('iss', ({ pick }) => pick(odd)),
  ],
  audience: [
    setClaim('aud', () => 'another-client'),
    setClaim('aud', () => ['another-client', 'third']),
    setClaim('aud', (_, before) => [before, 'another-client']),
    setClaim('aud', (_, before) => `${String(before)} `),
    setClaim('aud', ({ pick }) => pick(odd)),
    ({ claims }) => Object.assign(claims, { aud: [claims.aud, 'another-client'], azp: 'another-client' }),
  ],
  nonce: [
    setClaim('nonce', (_, before) => String(before).slice(1)),
    setClaim('nonce', (_, before) => String(before).toUpperCase()),
    setClaim('nonce', ({ pick }) => pick(odd)),
  ],
  time: [
    setClaim('exp', ({ now }) => now - 301),
    setClaim('exp', ({ now }) => String(now + 600)),
    setClaim('exp', ({ pick }) => pick(odd)),
    setClaim('nbf', ({ now }) => now + 4_000),
    setClaim('iat', ({ pick }) => pick([undefined, null, 'now', [], {}])),
  ],
  person: [
    setClaim('sub', ({ pick }) => pick(odd)),
    ({ claims }, { victim }) => Object.assign(claims, { sub: 'eve', email: victim, email_verified: false }),
    ({ claims }, { victim, pick }) =>
      Object.assign(claims, { sub: 'eve', email: victim, email_verified: pick(['true', 1, null, {}]) }),
    ({ claims }, { victim }) => Object.assign(claims, { sub: 'eve', email: `${victim}@evil.example` }),
    ({ claims }, { victim }) => Object.assign(claims, { sub: 'eve', email: victim.replace('@', '\u200b@') }),
    ({ claims }, { victim }) => Object.assign(claims, { sub: 'eve', email: victim.replace('e', '\u0435') }),
    ({ claims }, { pick }) => Object.assign(claims, { sub: 'eve', email: pick(odd) }),
    ({ claims }) => Object.assign(claims, { sub: 'eve', email: 'administrator' }),
  ],
  key: [
    (exchange) => {
      exchange.header.alg = 'none';
      exchange.sign = () => Buffer.alloc(0);
    },
    (exchange, { clientSecret, pick }) => {
      exchange.header.alg = 'HS256';
      const secret = pick([clientSecret, publicPem, '']);
      exchange.sign = (input) => createHmac('sha256', secret).update(input).digest();
    },
    (exchange) => {
      exchange.sign = signWith(attackers.privateKey);
    },
    (exchange) => {
      exchange.header.jwk = attackers.publicKey.export({ format: 'jwk' });
      exchange.sign = signWith(attackers.privateKey);
    },
    (exchange) => {
      Object.assign(exchange.header, { kid: '../../dev/null', jku: 'https://evil.example/keys' });
      exchange.sign = signWith(attackers.privateKey);
    },
    (exchange, { pick }) => {
      exchange.header.alg = pick(['RS256', 'PS256']);
      exchange.sign = (input) => sign('sha256', Buffer.from(input), rsa.privateKey);
    },
    ({ header }, { pick }) =>
      Object.assign(header, { alg: pick(['ES384', 'es256', '', null, 1, ['ES256']]) }),
    ({ header }) => Object.assign(header, { crit: ['exp'] }),
    (exchange) => {
      exchange.sign = (input) => signWith(own.privateKey)(`${input}x`);
    },
    // DER, and numbers that are zero (CVE-2022-21449).
    (exchange) => {
      exchange.sign = (input) => sign('sha256', Buffer.from(input), own.privateKey);
    },
    (exchange) => {
      exchange.sign = () => Buffer.alloc(64);
    },
  ],
  token: [
    (exchange) => {
      exchange.alter = (token) => token.slice(0, -1);
    },
    (exchange, { pick }) => {
      exchange.alter = (token) =>
        pick([`${token}.`, `.${token}`, `${token}.a.b`, token.replace('.', ''), '..', '.']);
    },
    (exchange) => {
      exchange.alter = (token) => {
        const [header, , signature] = token.split('.');
        return `${header}.${encode({ ...exchange.claims, sub: 'eve' })}.${signature}`;
      };
    },
    (exchange, { usedToken }) => {
      exchange.alter = () => usedToken;
    },
    (exchange) => {
      exchange.alter = (token) => `${token.split('.')[0]}.${'A'.repeat(100_000)}.AAAA`;
    },
    (exchange) => {
      exchange.alter = (token) =>
        `${token.split('.')[0]}.${Buffer.from('['.repeat(50_000)).toString('base64url')}.AAAA`;
    },
  ],
  answer: [
    (exchange, { pick }) => {
      const status = pick([201, 204, 301, 302, 307, 400, 401, 404, 429, 500, 503]);
      exchange.respond = (response, token) =>
        response
          .writeHead(status, { 'content-type': 'application/json', location: 'http://127.0.0.1:9/' })
          .end(status === 204 ? undefined : JSON.stringify(buildTokens(token)));
    },
    (exchange, { pick }) => {
      const body = pick([
        '',
        '{',
        'null',
        '[]',
        '"x"',
        '{}',
        '<html>',
        '\0',
        '{"access_token":"a"}',
        '['.repeat(250_000),
        '{"a":'.repeat(40_000),
      ]);
      exchange.respond = (response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    },
    (exchange, { pick }) => {
      exchange.respond = (response) =>
        sendJson(response, buildTokens(pick([undefined, null, 1, [], {}, ''])));
    },
    (exchange, { pick }) => {
      const type = pick([undefined, null, '', 1, 'mac']);
      exchange.respond = (response, token) => sendJson(response, { ...buildTokens(token), token_type: type });
    },
    (exchange, { pick }) => {
      const characters = pick([262_145, 1_000_000, 3_000_000]);
      exchange.respond = (response, token) =>
        sendJson(response, { ...buildTokens(token), more: 'x'.repeat(characters) });
    },
    (exchange) => {
      exchange.respond = (response, token) => {
        const body = JSON.stringify(buildTokens(token));
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length + 10 });
        response.write(body, () => response.destroy());
      };
    },
    (exchange) => {
      exchange.respond = (response) => response.destroy();
    },
    (exchange) => {
      exchange.respond = (response, token) => {
        for (let each = 0; each < 50; each += 1) response.setHeader(`x-${each}`, 'x'.repeat(500));
        sendJson(response, buildTokens(token));
      };
    },
    (exchange) => {
      exchange.respond = (response) =>
        sendJson(response, { error: '<script>', error_description: 'x'.repeat(9_000) }, 400);
    },
  ],
  callback: [
    ({ query }, { pick }) => query.set('state', pick(['', 'x', 'y'.repeat(43)])),
    ({ query }) => query.append('state', query.get('state') ?? ''),
    ({ query }) => query.delete('state'),
    ({ query }, { otherIssuer, pick }) =>
      query.set('iss', pick([otherIssuer, '', 'null', `${query.get('iss')}/`])),
    ({ query }) => query.append('iss', query.get('iss') ?? ''),
    ({ query }) => query.delete('iss'),
    ({ query }) => query.delete('code'),
    ({ query }) => query.append('code', 'another'),
    ({ query }, { pick }) =>
      query.set('error', pick(['access_denied', 'login_required', '<b>', 'x'.repeat(3_000)])),
    ({ query }) => query.set('response', 'e30.e30.'),
    ({ query }, { usedToken }) => query.set('id_token', usedToken),
  ],
  browser: [
    (exchange, { otherCookie }) => {
      exchange.cookie = otherCookie;
    },
    (exchange) => {
      exchange.cookie = '';
    },
    (exchange, { pick }) => {
      const [name, value = ''] = exchange.cookie.split('=');
      exchange.cookie = `${name}=${pick([value.slice(2), `${value}AA`, 'e30', 'A'.repeat(5_000), value.split('').reverse().join('')])}`;
    },
  ],
};

const parts = Object.keys(faults);

/** Makes one to three things wrong. Returns which: the part and the number of the fault in it. */
export function spoil(exchange: Exchange, loot: Loot): string[] {
  const chosen = new Set(Array.from({ length: loot.pick([1, 1, 1, 2, 3]) }, () => loot.pick(parts)));
  return [...chosen].map((part) => {
    const [number, fault] = loot.pick([...(faults[part] ?? []).entries()]);
    fault(exchange, loot);
    return `${part} ${number}`;
  });
}

export interface HostileIssuer {
  issuer: string;
  /** The exchange of the authorization code `code`. */
  expect(code: string, exchange: Exchange): void;
  /** The last ID token that was sent. */
  lastToken(): string;
  close(): Promise<void>;
}

export async function startHostileIssuer(): Promise<HostileIssuer> {
  const exchanges = new Map<string, Exchange>();
  let lastToken = '';
  const keys = { keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' }] };
  const { origin, close } = await listenOnLoopback((request, response) => {
    if (request.url === '/keys') return sendJson(response, keys);
    if (request.url !== '/token')
      return sendJson(response, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        jwks_uri: `${origin}/keys`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
        authorization_response_iss_parameter_supported: true,
      });
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const code = new URLSearchParams(Buffer.concat(chunks).toString()).get('code') ?? '';
      const exchange = exchanges.get(code);
      exchanges.delete(code);
      if (exchange === undefined) return sendJson(response, { error: 'invalid_grant' }, 400);
      const input = `${encode(exchange.header)}.${encode(exchange.claims)}`;
      lastToken = exchange.alter(`${input}.${exchange.sign(input).toString('base64url')}`);
      exchange.respond(response, lastToken);
    });
  });
  return {
    issuer: origin,
    expect: (code, exchange) => exchanges.set(code, exchange),
    lastToken: () => lastToken,
    close,
  };
}

/** An exchange in which nothing is wrong. */
export const buildExchange = (
  claims: Record<string, unknown>,
  query: URLSearchParams,
  cookie: string,
): Exchange => ({
  header: { alg: 'ES256', typ: 'JWT', kid },
  claims,
  sign: signWith(own.privateKey),
  alter: (token) => token,
  respond: (response, token) => sendJson(response, buildTokens(token)),
  query,
  cookie,
});
