/** A generic OAuth client library finds the token endpoint by discovery (RFC 8414), over real HTTP. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  clientCredentialsGrant,
  discovery,
  fetchProtectedResource,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import type { Actor } from '../../../testing/account.ts';
import { startTestServer } from '../../../testing/server.ts';

/**
 * The issuer contains the port, so the port is chosen before the server starts. If another process takes it
 * in between, try the next one.
 */
async function startDiscoverableServer() {
  for (;;) {
    const url = `http://127.0.0.1:${await findFreePort()}`;
    const server = await startTestServer({ settings: { HEADGATE_PUBLIC_URL: url } });
    const port = Number(new URL(url).port);
    if ((await server.listen(port).catch(() => undefined)) !== undefined)
      return { server, url: new URL(url) };
  }
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

const { server, url } = await startDiscoverableServer();

const discoverServer = (admin: Actor, secret: string, authentication = ClientSecretPost) =>
  discovery(url, admin.clientId, undefined, authentication(secret), {
    algorithm: 'oauth2',
    execute: [allowInsecureRequests],
  });

for (const authentication of [ClientSecretBasic, ClientSecretPost]) {
  test(`openid-client gets a token by discovery with ${authentication.name}, and the token works`, async () => {
    const { admin } = await server.account();
    const client = await discoverServer(admin, admin.secret.reveal(), authentication);
    const tokens = await clientCredentialsGrant(client, { scope: 'pipeline-execution' });
    assert.equal(tokens.expires_in, 1_800);
    assert.equal(tokens.scope, 'pipeline-execution');
    const projects = new URL('/dpc/v1/projects', url);
    const answer = await fetchProtectedResource(client, tokens.access_token, projects, 'GET');
    assert.equal(answer.status, 200);
    assert.deepEqual(await answer.json(), { page: 0, results: [], size: 25, total: 0 });
  });
}

test('openid-client understands the error response', async () => {
  const { admin } = await server.account();
  const client = await discoverServer(admin, 'not the secret of this client');
  await assert.rejects(clientCredentialsGrant(client), (failure) => {
    assert.ok(failure instanceof WWWAuthenticateChallengeError);
    assert.equal(failure.status, 401);
    assert.equal(failure.cause[0]?.scheme, 'basic');
    return true;
  });
});
