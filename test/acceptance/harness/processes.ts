/** Finds the processes of an installation in /proc by command line, environment and working directory. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export type ProcessKind =
  | 'npm'
  | 'npm shell'
  | 'bootstrap'
  | 'server'
  | 'supervisor'
  | 'postmaster'
  | 'backend'
  | 'agent'
  | 'warehouse'
  | 'run'
  | 'other';

export interface FoundProcess {
  pid: number;
  parent: number;
  kind: ProcessKind;
  command: string;
}

/** The first pattern that matches the command line gives the kind. */
const kinds: readonly (readonly [ProcessKind, RegExp])[] = [
  ['server', /src\/main\/server\.(ts|mjs)/],
  ['npm shell', /^sh -c .*bootstrap\.mjs/],
  ['bootstrap', /scripts\/bootstrap\.mjs/],
  ['npm', /^npm (start|run)|\/npm(-cli\.js)? (start|run)/],
  ['supervisor', /^\/bin\/sh -c[\s\S]*postgres/],
  ['postmaster', /bin\/postgres -D/],
  ['backend', /^postgres: /],
  ['run', /run-code-/],
  ['warehouse', /warehouses\/duckdb-process\.(ts|mjs)/],
  ['agent', /agent\/src\/main\.(ts|mjs)/],
];

/** The living processes whose command line, environment or working directory contains one of these texts. */
export function processesNaming(marks: readonly string[]): FoundProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => describe(Number(name), marks) ?? []);
}

function describe(pid: number, marks: readonly string[]): FoundProcess | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return undefined;
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    const about = [command, readlinkSync(`/proc/${pid}/cwd`), readFileSync(`/proc/${pid}/environ`, 'utf8')];
    if (!marks.some((mark) => about.some((text) => text.includes(mark)))) return undefined;
    const kind = kinds.find(([, form]) => form.test(command))?.[0] ?? 'other';
    return { pid, parent: Number(parent), kind, command };
  } catch {
    // It has ended, or belongs to another user.
    return undefined;
  }
}

export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

/** The processor time of a process, in clock ticks; 0 if it has ended. */
export function processorTicks(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13);
    return Number(user) + Number(system);
  } catch {
    return 0;
  }
}

/** Does nothing if the process has ended. */
export function signal(pid: number, how: NodeJS.Signals): void {
  try {
    process.kill(pid, how);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
