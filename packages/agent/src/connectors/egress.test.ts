import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEgress, EgressRefused, parseEgressAllow } from './egress.ts';

const resolve = async (host: string) =>
  (host === 'mixed.example'
    ? ['93.184.215.14', '10.0.0.1']
    : [host === 'inside.example' ? '10.1.2.3' : '93.184.215.14']
  ).map((address) => ({ address, family: 4 as const }));
const check = (url: string, allow = '') => createEgress(parseEgressAllow(allow), resolve).check(new URL(url));

test('public addresses are reached by https', async () => {
  assert.deepEqual(await check('https://api.example/x'), [{ address: '93.184.215.14', family: 4 }]);
  await assert.rejects(check('http://api.example/x'), /plain http to api\.example is not allowed/);
  await check('http://api.example/x', 'api.example');
});

test('private addresses are refused in all their spellings', async () => {
  const hosts = [
    '127.0.0.1',
    '10.0.0.1',
    '192.168.1.1',
    '172.31.0.1',
    '100.64.0.1',
    '0.0.0.0',
    '255.255.255.255',
  ];
  const more = [
    '2130706433',
    '0x7f.1',
    '[::1]',
    '[::]',
    '[fe80::1]',
    '[fc00::1]',
    '[::ffff:10.0.0.1]',
    '[::127.0.0.1]',
  ];
  for (const host of [
    ...hosts,
    ...more,
    '[64:ff9b::a00:1]',
    '[2002:a00:1::1]',
    'inside.example',
    'mixed.example',
  ])
    await assert.rejects(check(`https://${host}/`), EgressRefused, host);
});

test('the operator allows hosts and ranges, never the metadata services of clouds', async () => {
  await check('https://inside.example/', 'inside.example');
  await check('http://10.1.2.3/', '10.0.0.0/8');
  await check('http://[::ffff:10.1.2.3]/', '10.0.0.0/8');
  for (const host of [
    '169.254.169.254',
    '[::ffff:169.254.169.254]',
    '[fd00:ec2::254]',
    '100.100.100.200',
    '[64:ff9b::a9fe:a9fe]',
  ])
    await assert.rejects(
      check(`http://${host}/`, '0.0.0.0/0,::/0,169.254.169.254'),
      /gives out credentials/,
      host,
    );
});

test('a setting that is no host and no range is refused', () => {
  for (const text of ['10.0.0.0/33', 'https://a.example', 'a b', '10.0.0.0/8/8'])
    assert.throws(() => parseEgressAllow(text), /neither a CIDR range nor a host name/, text);
});
