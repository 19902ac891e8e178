/**
 * Confines the processes of runs and warehouses by means of the operating system: no network, and a memory
 * limit. The agent finds out at its start which means work, and logs them.
 */
import type { Log } from '../log.ts';
import { getReason } from '../log.ts';
import { createAllocationLauncher, type LimitAllocations } from './data-limit.ts';
import { findFolderFault } from './folder-probe.ts';
import { createFolderLauncher, type FolderRules } from './folder-rules.ts';
import { MemoryWatch } from './memory-watch.ts';
import { openNetworkProbe } from './network-probe.ts';
import { createSocketFilterLauncher } from './socket-filter.ts';

export interface Confinement {
  /** The command prefix that starts a program without network access; empty if no launcher works here. */
  readonly launcher: readonly string[];
  /** After it, the prefix that keeps a program to these folders; empty if that does not work here. */
  limitFolders(rules: FolderRules): readonly string[];
  readonly memory: MemoryWatch;
  /** The prefix that makes allocations above this limit fail; empty if that does not work here. */
  limitAllocations: LimitAllocations;
  close(): Promise<void>;
}

/** Strictest first. A network namespace does not block unix sockets with a path. */
const launchers: readonly (readonly [name: string, launcher: readonly string[] | undefined])[] = [
  ['seccomp', createSocketFilterLauncher()],
  ['network namespace', ['/usr/bin/unshare', '--net', '--']],
  ['user and network namespace', ['/usr/bin/unshare', '--user', '--map-current-user', '--net', '--']],
];

export async function openConfinement(log: Log): Promise<Confinement> {
  const memory = new MemoryWatch();
  if (memory.isSupported) log.info('runs and warehouses have a memory limit', { by: 'watch' });
  else log.warn('the agent cannot limit the memory of runs and warehouses: this needs /proc of Linux');
  const launcher = await findLauncher(log);
  const limitFolders = findFolderLauncher(launcher, log);
  const limitAllocations = findAllocationLauncher(log);
  return { launcher, limitFolders, memory, limitAllocations, close: () => memory.close() };
}

function findFolderLauncher(launcher: readonly string[], log: Log): Confinement['limitFolders'] {
  const limit: Confinement['limitFolders'] = (rules) => createFolderLauncher(rules) ?? [];
  const fault = findFolderFault((rules) => [...launcher, ...limit(rules)]);
  if (fault === undefined) {
    log.info('runs and warehouses have only their own folders', { by: 'landlock' });
    return limit;
  }
  log.warn(
    'the operating system does not keep runs and warehouses to their own folders, only Node.js and DuckDB do: use Linux 5.13 or later with Landlock, and install perl',
    { landlock: fault },
  );
  return () => [];
}

function findAllocationLauncher(log: Log): LimitAllocations {
  try {
    const launcher = createAllocationLauncher();
    log.info('an SQL statement that asks for too much memory fails alone', { by: 'prlimit' });
    return launcher;
  } catch (error) {
    log.warn(
      'an SQL statement that asks for too much memory ends the statements beside it in its environment: use Linux, and install util-linux',
      { prlimit: getReason(error) },
    );
    return () => [];
  }
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
    'the operating system does not block network access of runs and warehouses, only checks of SQL and expressions do: install perl, or allow user namespaces',
    faults,
  );
  return [];
}
