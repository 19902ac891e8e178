/**
 * Bounds the open connections of a server, because each takes a descriptor, and a server without free descriptors can
 * neither accept a connection nor open a file. One address has a share, so that a stranger who opens connections and
 * says nothing does not keep the others out.
 */
import { readFileSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { buildAddressKey } from '../../kernel/security/address-key.ts';

export interface ConnectionBounds {
  inAll: number;
  /** Undefined behind a proxy, whose address is that of all callers. */
  ofAddress: number | undefined;
}

/** Time for a TLS handshake. The default of Node.js is two minutes. */
export const handshakeMilliseconds = 10_000;
const usualDescriptors = 1_024;

/** Leaves a quarter of the descriptors for files, the database and outgoing connections. */
export function chooseConnectionBounds(isBehindProxy: boolean): ConnectionBounds {
  const inAll = Math.floor(readMostDescriptors() * 0.75);
  return { inAll, ofAddress: isBehindProxy ? undefined : Math.floor(inAll / 4) };
}

/** The soft limit: Node.js raises it to the hard one. */
function readMostDescriptors(): number {
  try {
    const [, most] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return most === undefined ? usualDescriptors : Number(most);
  } catch {
    return usualDescriptors;
  }
}

export function boundConnections(server: Server, { inAll, ofAddress }: ConnectionBounds): void {
  const counts = new Map<string, number>();
  server.maxConnections = inAll;
  if (ofAddress === undefined) return;
  server.on('connection', (socket: Socket) => {
    const key = buildAddressKey(socket.remoteAddress ?? '');
    const count = counts.get(key) ?? 0;
    if (count >= ofAddress) {
      socket.destroy();
      return;
    }
    counts.set(key, count + 1);
    socket.once('close', () => {
      const left = (counts.get(key) ?? 1) - 1;
      if (left === 0) counts.delete(key);
      else counts.set(key, left);
    });
  });
}
