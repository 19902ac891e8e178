import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEgress, EgressRefused, EgressUnresolved, parseEgressAllow } from './egress.ts';

const names: Record<string, string[]> = {
  'public.example': ['93.184.215.14'],
  'both.example': ['93.184.215.14', '2606:4700::1111'],
  'inside.example': ['10.0.0.7'],
  'mixed.example': ['93.184.215.14', '10.0.0.7'],
  'mixed-again.example': ['10.0.0.7', '93.184.215.14'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'cloud.example': ['93.184.215.14', '169.254.169.254'],
  'zone.example': ['fe80::1%eth0'],
  'odd.example': ['127.1'],
  'nothing.example': [],
};
const resolve = async (host: string) => names[host] ?? Promise.reject(new Error('ENOTFOUND'));
const check = (url: string, ...allow: string[]) =>
  createEgress({
    allow: parseEgressAllow(allow),
    setting: 'THE_SETTING',
    operator: 'the operator',
    resolve,
  }).check(new URL(url));

type Verdict = 'public' | 'metadata' | string;

/** What is reached without a setting, and by a setting that allows all addresses and the name itself. */
async function judge(host: string, ...allow: string[]): Promise<Verdict> {
  try {
    await check(`https://${host}/`, ...allow);
    return 'public';
  } catch (error) {
    assert.ok(error instanceof EgressRefused, `${host}: ${error}`);
    if (error instanceof EgressUnresolved) return 'unresolved';
    if (/gives out credentials/.test(error.message)) return 'metadata';
    return /in a ([\w-]+) range/.exec(error.message)?.[1] ?? error.message;
  }
}

const table: Readonly<Record<Verdict, readonly string[]>> = {
  public: [
    ...['1.1.1.1', '8.8.8.8', '93.184.215.14', '172.15.0.1', '172.32.0.1', '100.63.0.1', '100.128.0.1'],
    ...['169.253.1.1', '192.0.1.1', '223.255.255.255', '[2606:4700::1111]', '[2a00:1450:4001::1]'],
    // NAT64, which networks without IPv4 use for every public host.
    ...['[64:ff9b::808:808]', '[::ffff:8.8.8.8]', 'public.example', 'both.example'],
    // ISATAP, with a public IPv4 address inside.
    '[2606:4700::200:5efe:808:808]',
  ],
  unspecified: ['0.0.0.0', '0.1.2.3', '0', '[::]', '[::ffff:0.0.0.0]'],
  loopback: [
    ...['127.0.0.1', '127.255.255.254', '2130706433', '0x7f.1', '0177.0.0.1', '127.1', '127.0.0.1.'],
    ...['[::1]', '[::ffff:127.0.0.1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[::ffff:0:7f00:1]'],
    ...['[0:0:0:0:0:ffff:7f00:1]', 'mapped.example', '１２７.0.0.1', '[2606:4700::5efe:7f00:1]'],
  ],
  private: [
    ...['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '[::ffff:10.0.0.1]', '[64:ff9b::a00:1]'],
    ...[
      '[fc00::1]',
      '[fd12:3456::1]',
      '[fec0::1]',
      '[2606:4700::200:5efe:a00:1]',
      'inside.example',
      'mixed.example',
      'mixed-again.example',
    ],
  ],
  'link-local': ['169.254.1.1', '169.254.169.253', '[fe80::1]', '[::ffff:169.254.1.1]', 'zone.example'],
  shared: ['100.64.0.1', '100.127.255.255'],
  multicast: ['224.0.0.1', '239.1.1.1', '[ff02::1]'],
  reserved: [
    ...['240.0.0.1', '255.255.255.255', '198.18.0.1', '192.0.0.1', '192.0.2.1', '192.88.99.1', '203.0.113.1'],
    ...['[2002:7f00:1::]', '[2002:808:808::]', '[2001::1]', '[2001:db8::1]', '[3fff::1]', '[100::1]'],
    // Not assigned, but private networks use them.
    ...['[200::1]', '[4000::1]', '[::1:0:7f00:1]', '[64:ff9b:1::808:808]'],
  ],
  metadata: [
    ...['169.254.169.254', '169.254.170.2', '169.254.170.23', '168.63.129.16', '100.100.100.200'],
    ...[
      '192.0.0.192',
      '169.254.0.23',
      '169.254.42.42',
      '[fd00:ec2::254]',
      '[fd00:ec2::23]',
      '[fd20:ce::254]',
    ],
    ...['[fe80::a9fe:a9fe]', '[fd00:42::42]', '[fd00:a9fe:a9fe::1]', '[fd00:0ec2:0:0:0:0:0:0254]'],
    ...[
      '2852039166',
      '0xa9fea9fe',
      '0xa9.0xfe.0xa9.0xfe',
      '0251.0376.0251.0376',
      '169.254.43518',
      '169.16689662',
    ],
    ...['169.254.169.254.', '１６９.254.169.254', '[::ffff:169.254.169.254]', '[::ffff:a9fe:a9fe]'],
    ...['[::169.254.169.254]', '[::ffff:0:a9fe:a9fe]', '[64:ff9b::a9fe:a9fe]', '[64:ff9b::169.254.169.254]'],
    ...['[64:ff9b:1::a9fe:a9fe]', '[64:ff9b:1:a9fe:a9:fe00::]', '[64:ff9b:1:a9:fe:a9fe::]'],
    ...['[64:ff9b:1:0:a9:fea9:fe00:0]', '[2002:a9fe:a9fe::1]', '[2001:0:a9fe:a9fe::1]'],
    ...['[2001:0:1:1::5601:5601]', '[fe80::5efe:a9fe:a9fe]', '[2606:4700::200:5efe:a9fe:a9fe]'],
    ...['[::ffff:168.63.129.16]', '[64:ff9b::6464:64c8]', '[2002:6464:64c8::]', 'cloud.example'],
    ...[
      'metadata',
      'metadata.google.internal',
      'METADATA.google.internal.',
      'metadata.google.internal..',
      'Metadata.Google.INTERNAL...',
      'metadata..',
      '169.254.169.254..',
      'metadata.goog',
      'instance-data',
    ],
  ],
  unresolved: ['nothing.example', 'unknown.example'],
};

for (const [verdict, hosts] of Object.entries(table))
  test(`${hosts.length} addresses: ${verdict}`, async () => {
    for (const host of hosts) assert.equal(await judge(host), verdict, host);
  });

test('whatever the operator allows, a metadata service is never called', async () => {
  const all = ['0.0.0.0/0', '::/0', '169.254.0.0/16', '169.254.169.254', 'cloud.example', 'metadata'];
  for (const host of table.metadata ?? [])
    assert.equal(await judge(host, ...all, 'metadata.google.internal'), 'metadata', host);
  for (const verdict of ['unspecified', 'loopback', 'private', 'link-local', 'shared', 'reserved'])
    for (const host of table[verdict] ?? []) assert.equal(await judge(host, ...all), 'public', host);
});

test('all addresses of a name are returned, in the order of the resolver', async () => {
  assert.deepEqual(await check('https://both.example:8443/path'), [
    { address: '93.184.215.14', family: 4 },
    { address: '2606:4700::1111', family: 6 },
  ]);
});

test('ranges, addresses and hosts that the operator allows are allowed', async () => {
  for (const [host, entry] of [
    ['inside.example', '10.0.0.0/8'],
    ['inside.EXAMPLE', 'INSIDE.example'],
    ['10.0.0.7', '10.0.0.7'],
    ['[::ffff:10.0.0.7]', '10.0.0.0/8'],
    ['10.0.0.7', '::ffff:10.0.0.0/104'],
    ['10.0.0.7', '::ffff:10.0.0.7'],
    ['[fd12::1]', 'fd00::/8'],
    ['[2606:4700::200:5efe:a00:7]', '2606:4700::/32'],
  ] as const) {
    assert.equal(await judge(host, entry), 'public', `${host} by ${entry}`);
    await check(`http://${host}/`, entry);
  }
  assert.equal(await judge('10.0.0.8', '10.0.0.7'), 'private');
  assert.equal(await judge('more.inside.example', 'inside.example'), 'unresolved');
  assert.match(await judge('odd.example'), /odd\.example has an address that is none/);
});

test('plain http is allowed only to hosts that the operator allows', async () => {
  const refusal = /Plain http to \S+ is not allowed; use https, or ask the operator to add .* THE_SETTING/;
  await assert.rejects(check('http://public.example/'), refusal);
  await check('http://public.example/', 'public.example');
  for (const host of ['mixed.example', 'mixed-again.example'])
    await assert.rejects(check(`http://${host}/`, '10.0.0.0/8'), refusal);
});

test('a refusal names the address that was set, or the host, and the setting', async () => {
  await assert.rejects(check('https://10.0.0.7/'), {
    message:
      'The address 10.0.0.7 is in a private range, which is not allowed. Use a public address, or ask the operator to add this one to THE_SETTING.',
  });
  await assert.rejects(check('https://mixed.example/'), {
    message:
      'The host mixed.example leads to an address in a private range, which is not allowed. Use a public one, or ask the operator to add the host to THE_SETTING.',
  });
});

test('a refusal never says to which address a name leads', async () => {
  for (const host of Object.keys(names)) {
    const { message = '' } = (await check(`https://${host}/`).catch((error) => error)) as Partial<Error>;
    assert.doesNotMatch(message, /\d+\.\d+|::/, host);
  }
});

test('an address inside of another one is judged by its own range, and named', async () => {
  const host = '[2606:4700::200:5efe:10.0.0.7]';
  assert.equal(await judge(host, '10.0.0.0/8'), 'public');
  await assert.rejects(check(`https://${host}/`), /carries 10\.0\.0\.7, which is in a private range/);
});

test('a setting that is neither a range nor a host is refused', () => {
  for (const entry of [
    ...['10.0.0.0/33', '10.0.0.0/8/8', '10.0.0.0/', '::ffff:10.0.0.0/95', '::/129', 'a b', '-a.example'],
    ...['https://a.example', '', '*'],
  ])
    assert.throws(() => parseEgressAllow([entry]), /neither a CIDR range nor a host name/, entry);
});
