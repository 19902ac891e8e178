/** Signs a user in as a browser does. */
import assert from 'node:assert/strict';
import { type Client, createClient, type Transport } from './client.ts';

export interface Browser {
  sessionId: string;
  /** The Cookie header. */
  cookie: string;
  /** Requests of a page of the server. */
  client: Client;
}

/** What a browser sends with a form or a script of the server's own page. */
export const sameOrigin = { 'sec-fetch-site': 'same-origin' } as const;

export async function signInByLink(transport: Transport, admin: Client, userId: string): Promise<Browser> {
  const { body } = await admin.post<{ url: string }>(`/users/${userId}/sign-in-links`, {});
  const url = new URL(body.url).pathname;
  const headers = { ...sameOrigin, 'content-type': 'application/x-www-form-urlencoded' };
  const received = await transport({ method: 'POST', url, headers, body: '' });
  assert.equal(received.status, 303, received.text);
  const cookie = String(received.headers['set-cookie']).split(';', 1)[0] ?? '';
  const client = createBrowserClient(transport, cookie);
  const sessions = await client.get<{ results: { sessionId: string; isCurrent: boolean }[] }>('/me/sessions');
  const current = sessions.body.results.find(({ isCurrent }) => isCurrent);
  return { sessionId: current?.sessionId ?? assert.fail('no session'), cookie, client };
}

export function createBrowserClient(transport: Transport, cookie: string): Client {
  return createClient(
    (sent) => transport({ ...sent, headers: { ...sameOrigin, cookie, ...sent.headers } }),
    '/dpc/v1',
    async () => undefined,
  );
}
