/** Adds passkeys and signs in with them, as the script of the page does. */
import assert from 'node:assert/strict';
import { Authenticator } from './authenticator.ts';
import type { Transport } from './client.ts';
import { type Browser, sameOrigin } from './sign-in.ts';

const formType = { 'content-type': 'application/x-www-form-urlencoded' };

export interface PasskeyPage {
  post(path: string, form: Record<string, string>, more?: Record<string, string>): ReturnType<Transport>;
}

/** The requests of a page in a browser with this cookie. */
export const openPasskeyPage = (transport: Transport, cookie = ''): PasskeyPage => ({
  post: (path, form, more = {}) =>
    transport({
      method: 'POST',
      url: `/sign-in/passkeys${path}`,
      headers: { ...sameOrigin, ...formType, ...(cookie === '' ? {} : { cookie }), ...more },
      body: new URLSearchParams(form).toString(),
    }),
});

export interface CreationOptions {
  options: { challenge: string; rp: { id: string }; user: { id: string } };
  state: string;
}

/** Of a server without a public address. */
export const ownOrigin = 'http://localhost:8080';

export interface AddedPasskey {
  authenticator: Authenticator;
  passkeyId: string;
}

/** Adds a passkey in the session, and returns its authenticator. */
export async function addPasskey(
  transport: Transport,
  { cookie }: Pick<Browser, 'cookie'>,
  { origin = ownOrigin, name = 'Laptop' }: { origin?: string; name?: string } = {},
): Promise<AddedPasskey> {
  const page = openPasskeyPage(transport, cookie);
  const asked = await page.post('/registration-options', {});
  assert.equal(asked.status, 200, asked.text);
  const { options, state } = JSON.parse(asked.text) as CreationOptions;
  const authenticator = new Authenticator();
  const answering = { origin, rpId: options.rp.id, challenge: options.challenge };
  const response = authenticator.create(answering, options.user.id);
  const made = await page.post('/registrations', { state, name, response });
  assert.equal(made.status, 200, made.text);
  return { authenticator, passkeyId: (JSON.parse(made.text) as { passkeyId: string }).passkeyId };
}
