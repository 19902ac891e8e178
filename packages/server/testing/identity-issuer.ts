/** A real OpenID provider on loopback, with people who sign in without a password. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import Provider from 'oidc-provider';

export interface TestIssuer {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The claims of the person who signs in next, by claim. */
  person: Record<string, unknown> & { sub: string };
  /** Answers a request of the issuer in place of the provider; undefined lets the provider answer. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** Follows the redirects of the issuer as a browser does; returns the address of the callback. */
  visit(address: string): Promise<URL>;
  /** Signs the person out who signed in last; the issuer tells its clients by back-channel logout. */
  signOut(): Promise<void>;
  close(): Promise<void>;
}

const client = { clientId: 'headgate', clientSecret: 'the secret of the client, long enough' };

/** @param redirectUri where the issuer may send people */
export async function startIssuer(
  register: (id: { clientId: string }) => { redirectUri: string; backchannelLogoutUri?: string },
): Promise<TestIssuer> {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const server: Server = createServer((request, response) => handle(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const registered = register(client);
  /** Of the last browser at the issuer. */
  let cookies = new Map<string, string>();
  const made: TestIssuer = {
    issuer,
    ...client,
    person: { sub: 'person-1' },
    intercept: undefined,
    visit(address) {
      cookies = new Map();
      return visit(address, registered.redirectUri, cookies);
    },
    async signOut() {
      const page = await request(`${issuer}/session/end`, cookies);
      const form = await page.text();
      const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(form) ?? [];
      const body = new URLSearchParams({ xsrf, logout: 'yes' });
      const answer = await request(`${issuer}/session/end/confirm`, cookies, { method: 'POST', body });
      if (answer.status >= 400)
        throw new Error(`The issuer answered ${answer.status}: ${await answer.text()}`);
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close').catch(() => undefined);
    },
  };
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client.clientId,
        client_secret: client.clientSecret,
        redirect_uris: [registered.redirectUri],
        token_endpoint_auth_method: 'client_secret_post',
        ...(registered.backchannelLogoutUri === undefined
          ? {}
          : {
              backchannel_logout_uri: registered.backchannelLogoutUri,
              backchannel_logout_session_required: true,
            }),
      },
    ],
    claims: {
      openid: [
        'sub',
        'email',
        'email_verified',
        'preferred_username',
        'name',
        'oid',
        'groups',
        '_claim_names',
      ],
    },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    // Its own refuses addresses of this machine.
    fetch: (url, { method, headers, body } = {}) =>
      fetch(url, { method: method ?? 'GET', headers: headers ?? {}, body: body ?? null }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    cookies: { keys: ['one key for tests'] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ ...made.person, sub: id }),
    }),
    ttl: { Session: 3_600, Interaction: 600, Grant: 3_600, AccessToken: 600, IdToken: 600 },
  });
  const answer = provider.callback();
  handle = (request, response) => {
    if (made.intercept?.(request, response) === true) return;
    if (request.url?.startsWith('/interaction/')) {
      void consent(provider, request, response, made.person.sub);
      return;
    }
    answer(request, response);
  };
  after(() => made.close());
  return made;
}

/** Signs the person in and grants what the client asks for. */
async function consent(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
  accountId: string,
): Promise<void> {
  const { params } = await provider.interactionDetails(request, response);
  const grant = new provider.Grant({ accountId, clientId: String(params.client_id) });
  grant.addOIDCScope(String(params.scope));
  const grantId = await grant.save();
  await provider.interactionFinished(request, response, { login: { accountId }, consent: { grantId } });
}

async function visit(address: string, redirectUri: string, cookies: Map<string, string>): Promise<URL> {
  let url = address;
  for (let hops = 0; hops < 10; hops += 1) {
    if (url.startsWith(redirectUri)) return new URL(url);
    const answer = await request(url, cookies);
    const location = answer.headers.get('location');
    if (location === null) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
    url = new URL(location, url).href;
  }
  throw new Error('the issuer redirects without end');
}

/** With the cookies of a browser, which it keeps. */
async function request(
  url: string,
  cookies: Map<string, string>,
  input: RequestInit = {},
): Promise<Response> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const answer = await fetch(url, { ...input, redirect: 'manual', headers: { cookie } });
  for (const line of answer.headers.getSetCookie()) {
    const [pair = ''] = line.split(';');
    cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
  }
  return answer;
}
