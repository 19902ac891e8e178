/**
 * What the operating system does to the processes of runs and warehouses, beneath the limits of the languages
 * in them: no network, and bounded memory. Both are found out at the agent's start and written to its log.
 */
import type { Log } from '../log.ts';
import { getReason } from '../log.ts';
import { MemoryWatch } from './memory-watch.ts';
import { openNetworkProbe } from './network-probe.ts';
import { createSocketFilterLauncher } from './socket-filter.ts';

export interface Confinement {
  /**
   * What precedes a program on its command line so that it starts without the network; empty when nothing
   * here holds.
   */
  readonly launcher: readonly string[];
  readonly memory: MemoryWatch;
  close(): Promise<void>;
}

/** From the strictest on. A namespace leaves unix sockets that have a path. */
const launchers: readonly (readonly [name: string, launcher: readonly string[] | undefined])[] = [
  ['seccomp', createSocketFilterLauncher()],
  ['network namespace', ['/usr/bin/unshare', '--net', '--']],
  ['user and network namespace', ['/usr/bin/unshare', '--user', '--map-current-user', '--net', '--']],
];

export async function openConfinement(log: Log): Promise<Confinement> {
  const memory = new MemoryWatch();
  if (memory.isSupported) log.info('the memory of runs and warehouses is bounded', { by: 'watch' });
  else log.warn('the memory of runs and warehouses is not bounded by the agent: it needs /proc of Linux');
  const launcher = await findLauncher(log);
  return { launcher, memory, close: () => memory.close() };
}

async function findLauncher(log: Log): Promise<readonly string[]> {
  const faults: Record<string, string> = {};
  try {
    const probe = await openNetworkProbe();
    try {
      for (const [name, launcher] of launchers) {
        const fault = launcher ? await probe.fault(launcher) : `not on ${process.arch}`;
        if (launcher && fault === undefined) {
          log.info('runs and warehouses have no network', { by: name });
          return launcher;
        }
        faults[name] = fault ?? '';
      }
    } finally {
      probe.close();
    }
  } catch (error) {
    faults.probe = getReason(error);
  }
  log.warn(
    'the operating system does not keep runs and warehouses from the network: only the checks of SQL and expressions do; install perl, or allow user namespaces',
    faults,
  );
  return [];
}
