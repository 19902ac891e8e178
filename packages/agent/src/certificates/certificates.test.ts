/** The keys of an instance: requested once, renewed in time, and kept while sealed values may arrive. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createIssuer } from '../../testing/issuer.ts';
import { createLog } from '../log.ts';
import { Certificates } from './certificates.ts';

const folders: string[] = [];
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});
const { signal } = new AbortController();
const day = 86_400_000;

async function scene(keyType: 'ec' | 'rsa' = 'ec') {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-keys-'));
  folders.push(folder);
  const time = { now: Date.parse('2026-11-21T09:30:00Z') };
  const now = () => new Date(time.now);
  const issuer = await createIssuer('the-agent', now);
  const lines: string[] = [];
  const log = createLog({ level: 'debug', write: (line) => void lines.push(line) });
  const open = (input: object = {}) =>
    Certificates.open({
      folder,
      instanceId: '01890000-0000-7000-8000-000000000001',
      credential: { clientId: 'a client', clientSecret: 'a secret' },
      keyType,
      request: issuer.issue,
      log,
      now,
      ...input,
    });
  return { folder, time, issuer, open, lines };
}

for (const keyType of ['ec', 'rsa'] as const) {
  test(`an instance requests one certificate and finds it again after a restart (${keyType})`, async () => {
    const { folder, issuer, open, lines } = await scene(keyType);
    const first = await open();
    assert.equal(first.current, undefined);
    await first.renew(signal);
    await first.renew(signal);
    const second = await open();
    await second.renew(signal);
    assert.equal(issuer.requests.length, 1);
    const { current } = second;
    assert.ok(current);
    assert.deepEqual([current.agentId, current.keyType], ['the-agent', keyType]);
    assert.equal(second.findKey(current.kid), current);
    for (const name of await readdir(folder))
      assert.equal((await stat(join(folder, name))).mode & 0o077, 0, name);
    assert.ok(!lines.join('').includes('PRIVATE'));
  });
}

test('a certificate is renewed after two thirds of its lifetime; the old key is kept while values may arrive', async () => {
  const { time, open } = await scene();
  const certificates = await open();
  await certificates.renew(signal);
  const old = certificates.current?.kid ?? '';
  time.now += 59 * day;
  await certificates.renew(signal);
  assert.equal(certificates.current?.kid, old);
  time.now += 2 * day;
  await certificates.renew(signal);
  assert.notEqual(certificates.current?.kid, old);
  assert.ok(certificates.findKey(old) && (await open()).findKey(old));
  time.now += 31 * day;
  await certificates.renew(signal);
  assert.equal(certificates.findKey(old), undefined);
  assert.equal((await open()).findKey(old), undefined);
});

test('a lost answer does not lead to another key', async () => {
  const { issuer, open } = await scene();
  const lose = async (body: Parameters<typeof issuer.issue>[0]) => {
    await issuer.issue(body);
    throw new Error('lost');
  };
  await assert.rejects((await open({ request: lose })).renew(signal), /lost/);
  const certificates = await open();
  await certificates.renew(signal);
  const [one, other] = issuer.requests.map(({ request }) => request.split('\n').slice(1, 5).join(''));
  assert.equal(one?.slice(8, 200), other?.slice(8, 200), 'the same key in both requests');
});

test('a certificate of another credential or for another key is not used', async () => {
  const { issuer, open } = await scene();
  await (await open()).renew(signal);
  assert.equal(
    (await open({ credential: { clientId: 'another', clientSecret: 'a secret' } })).current,
    undefined,
  );
  const wrong = { ...(await issuer.issue(issuer.requests[0] ?? assert.fail())) };
  const mixed = await open({
    credential: { clientId: 'third', clientSecret: 'x' },
    request: async () => ({ ...wrong, kid: 'x'.repeat(43) }),
  });
  await assert.rejects(mixed.renew(signal), /another key/);
});

test('a certificate is valid only with the secret it was issued under; a refreshed secret leads to a new one at once', async () => {
  const { folder, issuer, open } = await scene();
  const credential = { clientId: 'a client', clientSecret: 'first' };
  const certificates = await open({ credential });
  const ending = new AbortController();
  const first = await until(() => certificates.current, certificates.run(ending.signal));
  credential.clientSecret = 'second';
  assert.equal(certificates.current, undefined);
  certificates.renewSoon();
  const second = await until(() => certificates.current);
  assert.notEqual(second.kid, first.kid);
  assert.equal(certificates.findKey(first.kid), first, 'what it holds may still be opened');
  ending.abort();
  assert.equal((await open({ credential })).current?.kid, second.kid);
  assert.equal(issuer.requests.length, 2);
  for (const name of await readdir(folder))
    assert.ok(!String(await readFile(join(folder, name))).includes('"second"'), name);
});

async function until<Found>(look: () => Found | undefined, _running?: Promise<void>): Promise<Found> {
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
