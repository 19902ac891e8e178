/** Which addresses pass: packages/contract/src/egress.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEgressGuard, EgressRefused, parseEgressAllow } from './egress.ts';

const createGuard = (...allow: string[]) =>
  createEgressGuard(parseEgressAllow(allow), async () => ['93.184.215.14']);

test('a URL is returned with its checked addresses, without user and password', async () => {
  const { url, addresses } = await createGuard().check('https://user:password@public.example:8443/x?q=1');
  assert.deepEqual(
    [url.href, addresses],
    ['https://public.example:8443/x?q=1', [{ address: '93.184.215.14', family: 4 }]],
  );
});

test('a refusal names the setting of the server; metadata services are refused whatever it allows', async () => {
  await assert.rejects(
    createGuard().check('https://10.0.0.7/'),
    /10\.0\.0\.7 is in a private range.*HEADGATE_EGRESS_ALLOW/,
  );
  await assert.rejects(
    createGuard('169.254.0.0/16').check('https://169.254.169.254/'),
    /metadata service of a cloud/,
  );
});

test('an address that is not an http URL is refused', async () => {
  for (const address of [
    '',
    'public.example',
    '/path',
    'ftp://public.example/',
    'file:///etc/passwd',
    'data:,x',
    'javascript:1',
  ])
    await assert.rejects(createGuard().check(address), (failure: Error) => {
      assert.ok(failure instanceof EgressRefused);
      assert.match(failure.message, /absolute http or https URL/);
      return true;
    });
});
