/** Passkeys in Chromium, with its virtual authenticator. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { chromium, openPage } from '../../../testing/chromium.ts';
import { startTestServer } from '../../../testing/server.ts';

const skip = chromium === undefined ? 'this machine has no Chromium' : false;

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('a user adds a passkey and signs in with it in a browser', { skip, timeout: 120_000 }, async (t) => {
  const port = await findPort();
  const base = `http://localhost:${port}`;
  const server = await startTestServer({ settings: { HEADGATE_PUBLIC_URL: base } });
  await server.listen(port);
  const account = await server.account();
  const ada = await account.user('MEMBER');
  const { url } = (await account.admin.post<{ url: string }>(`/users/${ada.actorId}/sign-in-links`, {})).body;
  const page = await openPage(chromium ?? '');
  t.after(() => page.close());
  await page.send('WebAuthn.enable');
  await page.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  const press = (label: string) =>
    page.evaluate(
      `[...document.querySelectorAll('button')].find((each) => each.textContent.includes('${label}')).click()`,
    );
  const shows = (text: string) => `document.body.innerText.includes(${JSON.stringify(text)})`;

  await page.open(url, shows('signs you in once'));
  await press('Sign in as');
  await page.waitFor(shows('You are signed in'));
  await page.waitFor(`!document.querySelector('#add-passkey').hidden`);
  await page.evaluate(`document.querySelector('#passkey-name').value = 'laptop'`);
  await press('Add a passkey');
  await page.waitFor(shows('The passkey is added'));
  const listed = (await account.admin.get<{ results: { name: string }[] }>(`/users/${ada.actorId}/passkeys`))
    .body;
  assert.deepEqual(
    listed.results.map(({ name }) => name),
    ['laptop'],
  );
  await press('Sign out');
  await page.waitFor(shows('You are signed out'));
  await page.open(`${base}/sign-in?returnTo=/docs`, shows('Use a passkey'));
  await press('Use a passkey');
  await page.waitFor(`location.pathname === '/docs'`);
  await page.open(`${base}/sign-in`, shows(ada.userName));
  assert.equal(await page.evaluate('document.cookie'), '', 'no script sees the cookies');
});
