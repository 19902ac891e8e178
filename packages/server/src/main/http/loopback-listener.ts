import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { UnreadBodies } from './unread-bodies.ts';

/**
 * Serves plain HTTP on a free loopback port, for the local agent: the public certificate may not be valid
 * for a local address.
 */
export async function listenOnLoopback(
  app: FastifyInstance,
  { classes }: UnreadBodies,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(classes, (request, response) => app.routing(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      // Its only client, the local agent, has stopped before.
      server.closeAllConnections();
      await closed;
    },
  };
}
