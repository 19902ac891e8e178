/** Attempts to reach the network, for the probe. */
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';

/** The probe's ports on 127.0.0.1. The UDP port echoes. */
export interface ProbePorts {
  tcp: number;
  udp: number;
}

export type Attempt = 'tcp' | 'udp' | 'dns';

const attempts: Readonly<Record<Attempt, (ports: ProbePorts, signal: AbortSignal) => Promise<void>>> = {
  async tcp({ tcp }, signal) {
    const socket = connect({ host: '127.0.0.1', port: tcp });
    try {
      await once(socket, 'connect', { signal });
    } finally {
      socket.destroy();
    }
  },
  async udp({ udp }, signal) {
    const socket = createSocket('udp4').on('error', () => undefined);
    try {
      const echoed = once(socket, 'message', { signal });
      socket.send('probe', udp, '127.0.0.1', (error) => error && socket.emit('error', error));
      await echoed;
    } finally {
      socket.close();
    }
  },
  async dns({ udp }) {
    const resolver = new Resolver({ timeout: 200, tries: 1 });
    resolver.setServers([`127.0.0.1:${udp}`]);
    await resolver.resolve4('probe.invalid');
  },
};

/** @returns the successful attempts. The listener does not answer DNS; it counts DNS packets itself. */
export async function reach(ports: ProbePorts, names: readonly Attempt[]): Promise<Attempt[]> {
  const tried = names.map(async (name) => {
    const reached = await attempts[name](ports, AbortSignal.timeout(20_000)).then(
      () => true,
      () => false,
    );
    return reached ? [name] : [];
  });
  return (await Promise.all(tried)).flat();
}
