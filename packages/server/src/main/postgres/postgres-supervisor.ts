// PostgreSQL's programs run under a small shell, in a process group of their own. The shell's standard
// input is a pipe that only this process holds open, so the programs end with this process, however it
// ends.
import { type ChildProcess, spawn } from 'node:child_process';
import type { ProcessUser } from '../host/process-users.ts';

/**
 * Prints the program's pid, and exits with its exit code. When standard input closes, the program gets
 * SIGINT: a fast shutdown of the postmaster, the end of initdb. (The standard input of a background command
 * is /dev/null unless it is named, hence descriptor 3.)
 */
const SUPERVISE = `
trap '' HUP INT TERM
exec 3<&0
"$@" </dev/null 3<&- >&2 &
program=$!
echo "$program"
{ while read -r _; do :; done; kill -INT "$program"; } <&3 >/dev/null 2>&1 &
watch=$!
exec 3<&- >&-
wait "$program"
code=$?
kill -KILL "$watch" 2>/dev/null
exit "$code"
`;

export interface Supervised {
  /** The pid of the program, not of the shell. */
  pid: number;
  /** Resolves when the program ends, or when the shell is killed and the program continues without it. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Closes the pipe: the program gets SIGINT. */
  end(): void;
}

export interface SupervisedProgram {
  command: string;
  args: string[];
  cwd: string;
  user?: ProcessUser | undefined;
  /** Called with the program's standard output and error. */
  onOutput(text: string): void;
}

export async function supervise(program: SupervisedProgram): Promise<Supervised> {
  const child = spawn('/bin/sh', ['-c', SUPERVISE, 'sh', program.command, ...program.args], {
    cwd: program.cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    // Not this process's environment: it may hold secrets, and PG* variables change what the programs do.
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    ...(program.user ? { uid: program.user.uid, gid: program.user.gid } : {}),
  });
  child.stdin.on('error', () => {});
  child.stderr.setEncoding('utf8').on('data', program.onOutput);
  const ended = new Promise<Awaited<Supervised['ended']>>((resolve) => {
    child.on('exit', (code, signal) => {
      child.stdin.destroy();
      resolve({ code, signal });
    });
  });
  return { pid: await readProgramPid(child, program.command), ended, end: () => child.stdin.destroy() };
}

function readProgramPid(child: ChildProcess, command: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.endsWith('\n')) resolve(Number(text));
    });
    child.on('error', (error) => reject(new Error(`Cannot run ${command}: ${error.message}`)));
    child.on('exit', (code, signal) =>
      reject(new Error(`Cannot run ${command}: it ended with ${signal ?? code}.`)),
    );
  });
}
