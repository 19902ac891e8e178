/** The process that starts git; see launcher.ts. Its argument is the socket of the server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname } from 'node:path';
import {
  type Launch,
  type LauncherReport,
  type LauncherRequest,
  nameOfConnection,
} from './launch-messages.ts';

const [, , socketPath = ''] = process.argv;
/** Gives its priority to what git starts, too. Where it is missing, all git has the usual priority. */
const nice = '/usr/bin/nice';
/** Undefined: it is not started yet. */
const running = new Map<string, { child: ChildProcess | undefined; isKilled: boolean }>();

const report = (message: LauncherReport) => process.send?.(message, () => undefined);

/** Paused, so that this process reads nothing that is for the program. */
async function openConnection(descriptor: number, id: string): Promise<Socket> {
  const socket = connect(socketPath);
  socket.pause();
  await once(socket, 'connect');
  await new Promise((resolve) => socket.write(nameOfConnection(descriptor, id), resolve));
  return socket;
}

async function start(id: string, launch: Launch): Promise<void> {
  const program: { child: ChildProcess | undefined; isKilled: boolean } = {
    child: undefined,
    isKilled: false,
  };
  running.set(id, program);
  const end = (end: Omit<LauncherReport, 'id'>) => {
    running.delete(id);
    report({ id, ...end });
  };
  let sockets: Socket[] = [];
  try {
    sockets = await Promise.all([0, 1, 2].map((descriptor) => openConnection(descriptor, id)));
    if (program.isKilled) return end({ code: null });
    const { cwd, env, user, niceness } = launch;
    const prefix = niceness > 0 && existsSync(nice) ? [nice, '-n', String(niceness)] : [];
    const [name = '', ...args] = [...prefix, ...launch.words];
    // Its own process group, so that what git starts ends with it.
    const child = spawn(name, args, { cwd, env: { ...env }, detached: true, stdio: sockets, ...user });
    program.child = child;
    if (niceness > 0) lowerPriorityOfSession(child.pid, niceness);
    child.on('error', ({ message }) => end({ code: null, fault: message }));
    child.on('exit', (code) => {
      // What it left behind.
      killGroup(child.pid);
      end({ code });
    });
  } catch (failure) {
    end({ code: null, fault: failure instanceof Error ? failure.message : String(failure) });
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** Linux may weigh sessions instead of processes, and git has a session of its own; see sched(7). */
function lowerPriorityOfSession(pid: number | undefined, niceness: number): void {
  if (pid === undefined || process.platform !== 'linux') return;
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
  } catch {
    // It has ended, or this Linux weighs processes only.
  }
}

function kill(id: string): void {
  const program = running.get(id);
  if (program === undefined) return;
  program.isKilled = true;
  killGroup(program.child?.pid);
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

process.on('message', (message: LauncherRequest) => {
  if (message.kind === 'kill') kill(message.id);
  else void start(message.id, message.launch);
});
// It ends with the server, not by a Ctrl-C that both get: the server still uses git while it stops.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => {
  for (const id of running.keys()) kill(id);
  // A server that was killed could not remove its socket.
  rmSync(dirname(socketPath), { recursive: true, force: true });
  process.exit();
});
