/** An account with an identity issuer, which is a real OpenID provider, and a browser that signs in there. */
import assert from 'node:assert/strict';
import type { Account } from './account.ts';
import { startIssuer, type TestIssuer } from './identity-issuer.ts';
import type { TestServer } from './open-server.ts';
import { createBrowserClient } from './sign-in.ts';

interface Scene {
  account: Account;
  issuer: TestIssuer;
  /** Of the identity issuer. */
  path: string;
  id: string;
  settings: Record<string, unknown>;
}

/**
 * @param server allows requests to 127.0.0.0/8
 * @param address where it listens, if the issuer tells it of logouts
 */
export function createIssuerScenes(server: TestServer, address?: string) {
  const get = (url: string, cookie = '') =>
    server.transport({ method: 'GET', url, headers: { cookie }, body: undefined });

  async function createScene(more: Record<string, unknown> = {}, existing?: Account): Promise<Scene> {
    const account = existing ?? (await server.account());
    const settings = {
      name: 'Acme login',
      clientId: 'headgate',
      clientSecret: 'the secret of the client, long enough',
      userClaim: 'email',
      domains: ['example.com'],
      ...more,
    };
    // The issuer needs the id of the callback, and the callback the issuer.
    const made = await account.admin.post<{ identityIssuerId: string; redirectUri: string }>(
      '/identity-issuers',
      { ...settings, issuer: 'http://127.0.0.1:9' },
    );
    assert.equal(made.status, 201, made.text);
    const { identityIssuerId: id, redirectUri } = made.body;
    const logout = address && `${address}/sign-in/issuers/${id}/back-channel-logout`;
    const issuer = await startIssuer(() => ({
      redirectUri,
      ...(logout === undefined ? {} : { backchannelLogoutUri: logout }),
    }));
    const path = `/identity-issuers/${id}`;
    const put = await account.admin.send('PUT', path, { body: { ...settings, issuer: issuer.issuer } });
    assert.equal(put.status, 200, put.text);
    return { account, issuer, path, id, settings: { ...settings, issuer: issuer.issuer } };
  }

  /** Sends the browser to the issuer. Returns the callback, not yet requested, and the cookie. */
  async function visitIssuer({ issuer, id }: Scene, query = '') {
    const started = await get(`/sign-in/issuers/${id}${query}`);
    assert.equal(started.status, 303, started.text);
    const cookie = String(started.headers['set-cookie']).split(';', 1)[0] ?? '';
    const callback = await issuer.visit(String(started.headers.location));
    return { url: callback.pathname + callback.search, callback, cookie };
  }

  async function signIn(scene: Scene, query = '') {
    const { url, cookie } = await visitIssuer(scene, query);
    const answer = await get(url, cookie);
    const session = /__Host-headgate-session[\w-]*=[\w-]{43}/.exec(String(answer.headers['set-cookie']))?.[0];
    return { answer, client: createBrowserClient(server.transport, session ?? '') };
  }

  return { createScene, get, visitIssuer, signIn };
}
