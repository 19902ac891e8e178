/** A server refuses to listen without protection, and speaks TLS itself. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type MadeCertificate, makeCertificate } from '../../packages/server/testing/certificate.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import { ended, Installation } from './harness/installation.ts';

describe('a server that would listen in plain text beyond loopback', () => {
  let headgate: Installation | undefined;
  after(() => headgate?.remove());

  it('does not start, and names the settings that help', async () => {
    headgate = await Installation.create({ environment: { HEADGATE_HOST: '0.0.0.0' } });
    assert.equal(await ended(headgate.launch()), 1);
    assert.match(headgate.output, /HEADGATE_HOST is "0\.0\.0\.0".*HEADGATE_TLS_CERT.*HEADGATE_TRUSTED_PROXY/);
    await headgate.gone();
  });
});

describe('a server with a certificate', () => {
  let headgate: Installation | undefined;
  after(() => headgate?.remove());

  it('speaks TLS, runs pipelines, and loads a renewed certificate without a restart', async () => {
    // The settings name files in a folder that does not exist yet.
    const environment: Record<string, string> = { HEADGATE_EXAMPLE: 'on' };
    headgate = await Installation.create({ environment });
    const files = { cert: join(headgate.folder, 'cert.pem'), key: join(headgate.folder, 'key.pem') };
    Object.assign(environment, { HEADGATE_TLS_CERT: files.cert, HEADGATE_TLS_KEY: files.key });
    const keep = ({ cert, key }: MadeCertificate) => {
      writeFileSync(files.cert, cert);
      writeFileSync(files.key, key, { mode: 0o600 });
    };
    const first = makeCertificate();
    keep(first);

    headgate.copyCluster();
    const server = headgate.launch();
    const prints = (what: string) => headgate?.output.includes(what);
    await waitUntil('the end of the example’s run', 120, () =>
      prints('its pipeline ran once in dev: SUCCESS'),
    );
    assert.ok(prints(`Headgate is ready at https://127.0.0.1:${headgate.port}`));

    assert.equal((await ask(headgate, first, '/livez')).status, 200);
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: headgate.clientId,
      client_secret: headgate.clientSecret,
    });
    const granted = await ask(headgate, first, '/oauth/dpc/token', form.toString());
    assert.equal(granted.status, 200, granted.text);
    await assert.rejects(fetch(`http://127.0.0.1:${headgate.port}/livez`), 'plain HTTP is not answered');

    const renewed = makeCertificate();
    keep(renewed);
    await waitUntil('the renewed certificate', 120, () =>
      ask(headgate as Installation, renewed, '/livez').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );

    const rotated = await headgate.run('run', 'rotate-signing-key');
    assert.match(rotated.output, /signing key {2}\S+\nsigns from {3}\d{4}-/);
    assert.equal(rotated.code, 0);
    const again = await headgate.command('rotate-signing-key');
    assert.match(again.output, /created earlier, not active yet/);
    await waitUntil('both keys in the JWKS', 120, async () => {
      const { text } = await ask(headgate as Installation, renewed, '/.well-known/jwks.json');
      return JSON.parse(text).keys.length === 2;
    });

    assert.equal(await headgate.interrupt(server), 0);
    await headgate.gone();
  });
});

/** Sends one request over a new connection, and accepts only this certificate. */
function ask({ port }: Installation, { cert }: MadeCertificate, path: string, form?: string) {
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const method = form === undefined ? 'GET' : 'POST';
    const headers = form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
    const options = {
      host: '127.0.0.1',
      port,
      path,
      method,
      headers,
      ca: cert,
      agent: false,
      timeout: 120_000,
    };
    const sent = request(options, async (answer) => {
      const text = (await answer.toArray().catch(() => [])).join('');
      resolve({ status: answer.statusCode, text });
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
    sent.on('error', reject).end(form);
  });
}
