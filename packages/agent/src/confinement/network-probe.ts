/**
 * Tests whether a launcher blocks network access, with a program that tries to reach listeners of the probe.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describeExit, startChild } from './child-process.ts';
import { type ProbePorts, reach } from './reach.ts';

/** Bounds a hang: a busy machine is no reason to go on without confinement. */
const probeTimeoutMilliseconds = 120_000;

/** Listeners on loopback that count connections and packets. */
export interface NetworkProbe {
  /** @returns undefined if the launcher blocks network access, else the reason. */
  fault(launcher: readonly string[]): Promise<string | undefined>;
  close(): void;
}

/** @throws Error if this process cannot reach the listeners, because then a probe would prove nothing. */
export async function openNetworkProbe(): Promise<NetworkProbe> {
  let arrived = 0;
  const tcp = createServer((socket) => {
    arrived += 1;
    socket.on('error', () => undefined).destroy();
  }).listen(0, '127.0.0.1');
  const udp = createSocket('udp4');
  udp.on('message', (message, { port }) => {
    arrived += 1;
    udp.send(message, port, '127.0.0.1', () => undefined);
  });
  udp.bind(0, '127.0.0.1');
  await Promise.all([once(tcp, 'listening'), once(udp, 'listening')]);
  const ports = { tcp: (tcp.address() as AddressInfo).port, udp: (udp as Socket).address().port };
  const close = () => {
    tcp.close();
    udp.close();
  };
  const reached = await reach(ports, ['tcp', 'udp']);
  if (reached.length < 2) {
    close();
    throw new Error('the agent cannot reach its own port on 127.0.0.1');
  }
  return {
    async fault(launcher) {
      arrived = 0;
      const failure = await tryFrom(launcher, ports);
      return failure ?? (arrived > 0 ? 'packets got through' : undefined);
    },
    close,
  };
}

async function tryFrom(launcher: readonly string[], ports: ProbePorts): Promise<string | undefined> {
  const child = startChild(new URL('./probe-process.ts', import.meta.url), {
    launcher,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const bound = setTimeout(() => child.kill(), probeTimeoutMilliseconds);
  try {
    return await new Promise((resolve) => {
      child.process.once('message', (reached: string[]) =>
        resolve(reached.length === 0 ? undefined : `${reached.join(', ')} got through`),
      );
      child.process.once('error', (error) => resolve(error.message));
      child.process.once('close', (code, signal) => {
        const last = child.stderrTail().trim().split('\n').at(-1);
        resolve(last || `the probe ${describeExit(code, signal)}`);
      });
      child.process.send(ports, () => undefined);
    });
  } finally {
    clearTimeout(bound);
    child.kill();
  }
}
