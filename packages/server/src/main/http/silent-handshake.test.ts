import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { makeCertificate } from '../../../testing/certificate.ts';
import { startTestServer } from '../../../testing/server.ts';
import { handshakeMilliseconds } from './connection-bounds.ts';

const server = await startTestServer({ certificate: { ...makeCertificate(), expiresAt: new Date() } });

test('a connection that never begins its TLS handshake is closed', async () => {
  const { port } = new URL(await server.listen());
  const socket = connect(Number(port), '127.0.0.1').resume();
  const late = AbortSignal.timeout(handshakeMilliseconds + 5_000);
  try {
    await assert.doesNotReject(once(socket, 'close', { signal: late }));
  } finally {
    socket.destroy();
  }
});
