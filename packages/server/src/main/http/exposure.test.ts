/** Which hosts the server refuses to listen on, and which proxies it trusts. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makeCertificate } from '../../../testing/certificate.ts';
import { createClient } from '../../../testing/client.ts';
import type { TestServer } from '../../../testing/open-server.ts';
import { startTestServer } from '../../../testing/server.ts';
import { loadConfig } from '../config.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-exposure-'));
after(() => rmSync(folder, { recursive: true }));

function kept(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const [made, other] = [makeCertificate(), makeCertificate()];
const files = { HEADGATE_TLS_CERT: kept('cert.pem', made.cert), HEADGATE_TLS_KEY: kept('key.pem', made.key) };

test('a host beyond loopback needs TLS or a trusted proxy', () => {
  for (const host of ['0.0.0.0', '::', '192.168.1.10', '2001:db8::1', 'headgate.example']) {
    const open = { HEADGATE_HOST: host };
    assert.throws(
      () => loadConfig(open),
      /HEADGATE_HOST is ".*plain text .*: set HEADGATE_TLS_CERT .*TRUSTED_PROXY/,
    );
    assert.equal(loadConfig({ ...open, ...files }).host, host);
    assert.equal(loadConfig({ ...open, HEADGATE_TRUSTED_PROXY: '10.0.0.0/8' }).host, host);
  }
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost', '::ffff:127.0.0.1'])
    assert.equal(loadConfig({ HEADGATE_HOST: host }).host, host);
});

test('with TLS the default public URL is https', () => {
  assert.equal(loadConfig(files).publicUrl, 'https://127.0.0.1:8080');
  const input = { ...files, HEADGATE_PUBLIC_URL: 'https://headgate.example' };
  assert.equal(loadConfig(input).publicUrl, 'https://headgate.example');
  assert.equal(loadConfig({}).publicUrl, 'http://127.0.0.1:8080');
});

test('TLS files are checked at the start; errors name the file and the fault, never its content', () => {
  const faults: [Record<string, string>, RegExp][] = [
    [{ HEADGATE_TLS_KEY: '' }, /HEADGATE_TLS_CERT and HEADGATE_TLS_KEY must be set together/],
    [{ HEADGATE_TLS_CERT: join(folder, 'none') }, /HEADGATE_TLS_CERT: \S+none cannot be read \(ENOENT\)/],
    [{ HEADGATE_TLS_CERT: kept('text', 'text') }, /HEADGATE_TLS_CERT: \S+text is not a PEM certificate/],
    [{ HEADGATE_TLS_KEY: kept('no-key', made.cert) }, /HEADGATE_TLS_KEY: \S+no-key is not a PEM private key/],
    [
      { HEADGATE_TLS_KEY: kept('other', other.key) },
      /HEADGATE_TLS_KEY: \S+other is not the key of the certificate/,
    ],
  ];
  const content = [made.cert, made.key, other.key].flatMap((pem) => pem.trim().split('\n'));
  for (const [settings, expected] of faults) {
    assert.throws(
      () => loadConfig({ ...files, ...settings }),
      (failure: Error) => {
        assert.match(failure.message, expected);
        assert.ok(!content.some((line) => failure.message.includes(line)), failure.message);
        return true;
      },
    );
  }
});

test('a proxy is set by address or range', () => {
  const { trustedProxies } = loadConfig({ HEADGATE_TRUSTED_PROXY: '10.0.0.0/8, ::1,192.0.2.7' });
  assert.deepEqual(trustedProxies, ['10.0.0.0/8', '::1', '192.0.2.7']);
  for (const bad of ['proxy.example', '10.0.0.0/33', 'yes', '10.0.0.1,'])
    assert.throws(
      () => loadConfig({ HEADGATE_TRUSTED_PROXY: bad }),
      /HEADGATE_TRUSTED_PROXY: ".*" is neither an address nor a CIDR range/,
    );
});

/**
 * The status of a login with a wrong secret, sent through these addresses. Each number is another client
 * id.
 */
async function attempt(server: TestServer, name: number, forwardedFor: string): Promise<number> {
  const form = { grant_type: 'client_credentials', client_id: `client-${name}`, client_secret: 'wrong' };
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': forwardedFor };
  const anonymous = createClient(server.transport, '', async () => undefined);
  return (await anonymous.post('/oauth/dpc/token', new URLSearchParams(form).toString(), { headers })).status;
}

test('behind a trusted proxy failed logins count by the caller’s address, which it cannot forge', async () => {
  const server = await startTestServer({ settings: { HEADGATE_TRUSTED_PROXY: '127.0.0.0/8' } });
  const guesser = '203.0.113.9';
  for (let name = 0; name < 10; name += 1)
    assert.equal(await attempt(server, name, `198.51.100.${name}, ${guesser}`), 401);
  assert.equal(await attempt(server, 10, `198.51.100.10, ${guesser}`), 429);
  assert.equal(await attempt(server, 11, '203.0.113.10'), 401, 'another caller is not limited');
});

test('X-Forwarded-For of other senders is ignored', async () => {
  for (const settings of [{}, { HEADGATE_TRUSTED_PROXY: '192.0.2.1' }]) {
    const server = await startTestServer({ settings });
    for (let name = 0; name < 10; name += 1)
      assert.equal(await attempt(server, name, `203.0.113.${name}`), 401);
    assert.equal(await attempt(server, 10, '203.0.113.99'), 429);
  }
});
