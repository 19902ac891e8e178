import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEgressGuard, EgressRefused, parseEgressAllow, type Resolve } from './egress.ts';

const names: Record<string, string[]> = {
  'public.example': ['203.0.114.7'],
  'both.example': ['203.0.114.7', '2606:4700::1111'],
  'inside.example': ['10.0.0.7'],
  'mixed.example': ['203.0.114.7', '10.0.0.7'],
  'mixed-again.example': ['10.0.0.7', '203.0.114.7'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'nothing.example': [],
};
const resolve: Resolve = async (host) => names[host] ?? Promise.reject(new Error('ENOTFOUND'));
const createGuard = (...allow: string[]) => createEgressGuard(parseEgressAllow(allow), resolve);

const requireRefused = (address: string, reason: RegExp, ...allow: string[]) =>
  createGuard(...allow)
    .check(address)
    .then(
      ({ ip }) => assert.fail(`${address} is let through, to ${ip}`),
      (failure: Error) => {
        assert.ok(failure instanceof EgressRefused, `${address}: ${failure}`);
        assert.match(failure.message, reason, address);
      },
    );

test('a public address is allowed, and the checked address is returned', async () => {
  const { url, ip, family } = await createGuard().check('https://public.example:8443/path?q=1');
  assert.deepEqual([url.href, ip, family], ['https://public.example:8443/path?q=1', '203.0.114.7', 4]);
  assert.equal((await createGuard().check('https://[2606:4700::1111]/')).family, 6);
});

test('private, loopback, link-local and other special ranges are refused', async () => {
  const addresses = [
    '127.0.0.1',
    '127.255.255.254',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '240.0.0.1',
    '198.18.0.1',
    '[::1]',
    '[::]',
    '[fe80::1]',
    '[fc00::1]',
    '[fd12:3456::1]',
    '[ff02::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:10.0.0.1]',
    '[::ffff:a9fe:a9fe]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:7f00:1::]',
    '[2002:a00:1::]',
    '[::127.0.0.1]',
    '[::a9fe:a9fe]',
    // Not assigned, but private networks use them.
    '[200::1]',
    '[4000::1]',
    '[::1:0:7f00:1]',
  ];
  await Promise.all(addresses.map((address) => requireRefused(`https://${address}/`, /not allowed/)));
});

test('an address in another notation is the same address', async () => {
  for (const host of [
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '0x7f000001',
    '１２７.0.0.1',
    '127.0.0.1.',
  ]) {
    await requireRefused(`https://${host}/`, /not allowed|could not be resolved/);
  }
});

test('a name is refused when one of its addresses is', async () => {
  await requireRefused('https://inside.example/', /10\.0\.0\.7/);
  await requireRefused('https://mixed.example/', /10\.0\.0\.7/);
  await requireRefused('https://mapped.example/', /not allowed/);
  assert.ok((await createGuard().check('https://both.example/')).ip);
});

test('a name without an address, or unknown, is refused', async () => {
  await requireRefused('https://nothing.example/', /has no address/);
  await requireRefused('https://unknown.example/', /could not be resolved/);
});

test('a later DNS change does not affect where the connection goes', async () => {
  let asked = 0;
  const rebinding: Resolve = async () => {
    asked += 1;
    return asked === 1 ? ['203.0.114.7'] : ['127.0.0.1'];
  };
  const guard = createEgressGuard(parseEgressAllow([]), rebinding);
  assert.equal((await guard.check('https://rebind.example/')).ip, '203.0.114.7');
  assert.equal(asked, 1, 'asked once, and what was checked is what is connected to');
  await assert.rejects(guard.check('https://rebind.example/'), EgressRefused);
});

test('ranges, addresses and hosts that the operator allows are allowed', async () => {
  assert.equal((await createGuard('10.0.0.0/8').check('https://inside.example/')).ip, '10.0.0.7');
  assert.equal((await createGuard('10.0.0.7').check('https://10.0.0.7/')).ip, '10.0.0.7');
  assert.equal((await createGuard('INSIDE.example').check('https://inside.EXAMPLE/')).ip, '10.0.0.7');
  assert.equal((await createGuard('10.0.0.0/8').check('https://[::ffff:10.0.0.7]/')).ip, '10.0.0.7');
  assert.equal((await createGuard('fd00::/8').check('https://[fd12::1]/')).ip, 'fd12::1');
  await requireRefused('https://10.0.0.8/', /not allowed/, '10.0.0.7');
  await requireRefused('https://public.inside.example/', /could not be resolved/, 'inside.example');
});

test('plain http is allowed only to hosts that the operator allows', async () => {
  await requireRefused('http://public.example/', /use https/);
  assert.ok(await createGuard('public.example').check('http://public.example/'));
  assert.ok(await createGuard('127.0.0.0/8').check('http://127.0.0.1:3000/'));
  await requireRefused('http://mixed.example/', /not allowed|use https/, '10.0.0.0/8');
  await requireRefused('http://mixed-again.example/', /use https/, '10.0.0.0/8');
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
  ]) {
    await requireRefused(address, /absolute http or https URL/);
  }
});

test('user and password are removed from the URL', async () => {
  const { url } = await createGuard().check('https://user:password@public.example/x');
  assert.equal(url.href, 'https://public.example/x');
});

test('a setting that is neither a range nor a host is refused', () => {
  for (const entry of ['10.0.0.0/33', 'a b', '-a.example', 'https://a.example', '', '*']) {
    assert.throws(() => parseEgressAllow([entry]), /neither a CIDR range nor a host name/, entry);
  }
});
