/**
 * How the agent starts its own child processes: nothing of its environment, a process group of their own, no
 * console.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

const stderrTailLength = 4_000;

export interface Child {
  process: ChildProcess;
  /** The last characters that it wrote on stderr. */
  stderrTail(): string;
  /** SIGKILL to its whole process group; harmless when it has ended. */
  kill(): void;
}

export function startChild(
  entry: URL,
  options: {
    /** A command that becomes the program that follows it, with the same process id; see `Confinement`. */
    launcher: readonly string[];
    execArgv: readonly string[];
    environment?: Readonly<Record<string, string>>;
    home?: string;
    /** Where its relative paths begin; `home` unless given. */
    workingFolder?: string;
  },
): Child {
  const home = options.home ?? tmpdir();
  const [execPath = process.execPath, ...launching] = [...options.launcher, process.execPath];
  const child = fork(fileURLToPath(entry), [], {
    // Not the agent's own environment (it may hold the secret) and not its own flags.
    env: { HOME: home, TMPDIR: home, TZ: 'UTC', LANG: 'C.UTF-8', ...options.environment },
    execPath,
    execArgv: [...launching, ...options.execArgv],
    cwd: options.workingFolder ?? home,
    detached: true,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  raiseOomScore(child.pid);
  let tail = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-stderrTailLength);
  });
  return { process: child, stderrTail: () => tail, kill: () => killGroup(child.pid) };
}

/** When the machine runs out of memory, the kernel ends this process before the agent and the server. */
function raiseOomScore(pid: number | undefined): void {
  try {
    if (pid !== undefined) writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // Not Linux, or the process has ended. The limit of its memory does not depend on it.
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** What became of a process, in words. */
export function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  return signal ? `was killed by ${signal}` : `ended with code ${code ?? 'unknown'}`;
}
