/** TLS of the server. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connect, type PeerCertificate } from 'node:tls';
import { type MadeCertificate, makeCertificate } from '../../../testing/certificate.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createLog } from '../../kernel/log.ts';
import { followCertificate, readCertificate } from './certificate.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-tls-'));
after(() => rmSync(folder, { recursive: true }));
const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };

function keep({ cert, key }: MadeCertificate): void {
  writeFileSync(files.certFile, cert);
  writeFileSync(files.keyFile, key);
}

const made = makeCertificate();
keep(made);
const certificate = readCertificate(files);
const server = await startTestServer({ certificate });
const url = new URL((await server.listen()).replace('http:', 'https:'));
const port = Number(url.port);

/** The certificate that the server presents to a new connection, checked against `authority`. */
function shown(authority: MadeCertificate): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', ca: authority.cert }, () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

test('requests over TLS work', async () => {
  const { admin } = await server.account();
  const headers = { authorization: `Bearer ${await admin.token()}` };
  const status = await new Promise((resolve, reject) => {
    const sent = request(new URL('/dpc/v1/projects', url), { headers, ca: made.cert }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.on('error', reject).end();
  });
  assert.equal(status, 200);
});

test('plain HTTP on the TLS port gets no response', async () => {
  await assert.rejects(fetch(`http://127.0.0.1:${port}/livez`));
});

test('new connections get a renewed certificate; an invalid one is not used, and is logged once', async (t) => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const following = followCertificate(server.app.server as unknown as Server, files, certificate, log);
  t.after(() => following.stop());
  following.look();
  assert.deepEqual(lines, []);

  const renewed = makeCertificate();
  writeFileSync(files.certFile, renewed.cert);
  following.look();
  following.look();
  assert.equal(lines.length, 1, 'half of a renewal is logged once');
  assert.match(lines[0] ?? '', /is not the key of the certificate/);
  await shown(made);

  keep(renewed);
  following.look();
  assert.match(lines[1] ?? '', /loaded a renewed TLS certificate/);
  await shown(renewed);
  await assert.rejects(shown(made));
});

test('the expiry of a certificate is read', () => {
  keep(makeCertificate(-1));
  assert.ok(readCertificate(files).expiresAt < new Date());
});
