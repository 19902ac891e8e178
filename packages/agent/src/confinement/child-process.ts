/**
 * Starts child processes without the agent's environment, in their own process group and without a console.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

const stderrTailLength = 4_000;

export interface Child {
  process: ChildProcess;
  /** The end of its output on stderr. */
  stderrTail(): string;
  /** Sends SIGKILL to its process group. Does nothing if it has ended. */
  kill(): void;
}

export function startChild(
  entry: URL,
  options: {
    /** A command that executes the program after it with the same process id; see `Confinement`. */
    launcher: readonly string[];
    execArgv: readonly string[];
    environment?: Readonly<Record<string, string>>;
    home?: string;
    /** The working directory; default: `home`. */
    workingFolder?: string;
  },
): Child {
  const home = options.home ?? tmpdir();
  const [execPath = process.execPath, ...launching] = [...options.launcher, process.execPath];
  const child = fork(fileURLToPath(entry), [], {
    // The agent's environment may contain its secret, so it is not passed on. Nor are its flags.
    env: { HOME: home, TMPDIR: home, TZ: 'UTC', LANG: 'C.UTF-8', ...options.environment },
    execPath,
    execArgv: [...launching, ...options.execArgv],
    cwd: options.workingFolder ?? home,
    detached: true,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  guardChannel(child, () => killGroup(child.pid));
  raiseOomScore(child.pid);
  let tail = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-stderrTailLength);
  });
  return { process: child, stderrTail: () => tail, kill: () => killGroup(child.pid) };
}

/** If the machine runs out of memory, the kernel kills this process before the agent and the server. */
function raiseOomScore(pid: number | undefined): void {
  try {
    if (pid !== undefined) writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // Not Linux, or the process has ended. The memory limit does not depend on this.
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

/** How a process ended, for a message. */
export function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  return signal ? `was killed by ${signal}` : `ended with code ${code ?? 'unknown'}`;
}

/** The reading end of a channel. Node's types do not declare it. */
interface Channel {
  onread(...inputs: unknown[]): unknown;
}

/**
 * Protects the agent from the channel of a child process that does what it wants. Node.js trusts its children:
 * bytes that are no message, and some messages that it keeps to itself, throw an error that nothing catches,
 * which would end the agent.
 *
 * @param onFault called if the child sends what is no message
 */
function guardChannel(child: ChildProcess, onFault: () => void): void {
  // They are for handles, and none is ever sent or taken.
  child.removeAllListeners('internalMessage');
  const channel = findChannel(child);
  if (channel === undefined) return;
  const { onread } = channel;
  channel.onread = (...inputs) => {
    try {
      return Reflect.apply(onread, channel, inputs);
    } catch {
      onFault();
      return undefined;
    }
  };
}

function findChannel(child: ChildProcess): Channel | undefined {
  const key = Object.getOwnPropertySymbols(child).find((each) => each.description === 'kChannelHandle');
  const channel = key === undefined ? undefined : (Reflect.get(child, key) as Partial<Channel> | null);
  return typeof channel?.onread === 'function' ? (channel as Channel) : undefined;
}
