/** The script of the page `/sign-in`, without a browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { readReturnPath } from '../sign-in/sign-in-address.ts';
import { script } from './passkey-script.ts';

const publicUrl = 'https://headgate.example';

/** Where the browser goes after a sign-in by a passkey. */
async function findDestination(returnTo: string): Promise<string> {
  const page = `${publicUrl}/sign-in?returnTo=${encodeURIComponent(returnTo)}`;
  let destination = '';
  const listeners: (() => Promise<void>)[] = [];
  const button = { addEventListener: (_: string, work: () => Promise<void>) => listeners.push(work) };
  const said = { textContent: '' };
  const parse = () => ({});
  const PublicKeyCredential = { parseCreationOptionsFromJSON: parse, parseRequestOptionsFromJSON: parse };
  runInNewContext(script, {
    document: {
      getElementById: (id: string) => ({ 'use-passkey': button, 'passkey-status': said })[id] ?? null,
    },
    window: { PublicKeyCredential },
    PublicKeyCredential,
    navigator: { credentials: { get: async () => ({}) } },
    location: {
      search: new URL(page).search,
      assign: (to: string) => {
        destination = new URL(to, page).href;
      },
    },
    URLSearchParams,
    fetch: async (_: string, { body }: { body: URLSearchParams }) => {
      const location = readReturnPath(body.get('returnTo') ?? undefined, publicUrl);
      return { ok: true, json: async () => ({ options: {}, location }) };
    },
  });
  await listeners[0]?.();
  assert.equal(said.textContent, '');
  return destination;
}

test('after a sign-in by a passkey the browser stays on this server', async () => {
  assert.equal(await findDestination('/docs?a=b'), `${publicUrl}/docs?a=b`);
  for (const path of [
    '/https://evil.example/',
    '/javascript:alert(1)',
    '/%2F%2Fevil.example',
    '//evil.example',
  ])
    assert.ok((await findDestination(path)).startsWith(`${publicUrl}/`), path);
});
