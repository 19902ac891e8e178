/**
 * Starts git from a small process (docs/adr/0067). A start copies the memory map of the process that does it
 * and waits for the program: that would stop the event loop of a large server for up to 100 ms.
 *
 * The launcher connects one socket to the server for each of standard input, output and errors, and gives
 * them to git. So what git reads and writes does not pass through the launcher.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type Launch, type LauncherReport, type LauncherRequest, nameBytes } from './launch-messages.ts';

export interface Launched {
  /** Fails with EPIPE if the program reads no more. */
  stdin: Writable;
  stdout: Socket;
  stderr: Socket;
  /** Resolves with the exit code when the program has ended and its output was read; undefined: a signal ended it. */
  ended: Promise<number | undefined>;
  /** Ends the program and those that it started. */
  kill(): void;
}

interface Program {
  sockets: (Socket | undefined)[];
  connected: PromiseWithResolvers<void>;
  ended: PromiseWithResolvers<number | undefined>;
}

interface Launcher {
  child: ChildProcess;
  programs: Map<string, Program>;
}

let launcher: Promise<Launcher> | undefined;

/** One launcher serves the process; it is started at the first use, and again if it has ended. */
export async function launchProgram(launch: Launch): Promise<Launched> {
  launcher ??= startLauncher();
  launcher.catch(() => {
    launcher = undefined;
  });
  const { child, programs } = await launcher;
  const id = randomUUID();
  const program: Program = {
    sockets: [],
    connected: Promise.withResolvers<void>(),
    ended: Promise.withResolvers<number | undefined>(),
  };
  program.ended.promise.catch(program.connected.reject);
  const send = (request: LauncherRequest) => child.connected && child.send(request, () => undefined);
  programs.set(id, program);
  child.channel?.ref();
  const forget = () => {
    programs.delete(id);
    if (programs.size === 0) child.channel?.unref();
  };
  if (!send({ kind: 'start', id, launch })) program.ended.reject(new Error('The launcher of git has ended.'));
  try {
    // The report of a short program may arrive before its connections.
    await program.connected.promise;
  } catch (failure) {
    forget();
    for (const socket of program.sockets) socket?.destroy();
    throw failure;
  }
  const [input, stdout, stderr] = program.sockets as [Socket, Socket, Socket];
  const stdin = openInput(input);
  const closed = [stdout, stderr].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  const ended = program.ended.promise
    .finally(() => {
      forget();
      // Nothing reads it any more.
      stdin.destroy();
    })
    .then((code) => Promise.all(closed).then(() => code));
  ended.catch(() => undefined);
  return { stdin, stdout, stderr, ended, kill: () => send({ kind: 'kill', id }) };
}

/** The socket without its readable half, whose errors would hide those of writing. */
function openInput(socket: Socket): Writable {
  const input = new Writable({
    write: (chunk, _, done) =>
      socket.write(chunk, (failure) => done(failure && Object.assign(new Error('EPIPE'), { code: 'EPIPE' }))),
    final: (done) => socket.end(done),
    destroy: (failure, done) => {
      socket.destroy();
      done(failure);
    },
  });
  // The program may end before it has read everything.
  return input.on('error', () => undefined);
}

async function startLauncher(): Promise<Launcher> {
  // Only this user may connect.
  const folder = mkdtempSync(join(tmpdir(), 'headgate-git-'));
  const path = join(folder, 'socket');
  const programs: Launcher['programs'] = new Map();
  const server = createServer((socket) => nameConnection(socket, programs));
  server.listen(path).unref();
  await once(server, 'listening');
  const entry = fileURLToPath(new URL('launcher-process.ts', import.meta.url));
  const child = fork(entry, [path], { env: {}, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  child.unref();
  child.channel?.unref();
  child.on('error', () => undefined);
  child.on('message', (report: LauncherReport) => endProgram(programs.get(report.id), report));
  child.once('exit', () => endLauncher(server, folder, programs));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return { child, programs };
}

function nameConnection(socket: Socket, programs: Launcher['programs']): void {
  // Of a program that ended without reading everything.
  socket.on('error', () => undefined);
  socket.on('readable', function read() {
    const name = (socket.read(nameBytes) as Buffer | null)?.toString('latin1');
    if (name === undefined) return;
    socket.off('readable', read);
    const program = programs.get(name.slice(1));
    if (program === undefined) {
      socket.destroy();
      return;
    }
    program.sockets[Number(name[0])] = socket;
    if (program.sockets.filter(Boolean).length === 3) program.connected.resolve();
  });
}

function endProgram(program: Program | undefined, { code, fault }: LauncherReport): void {
  if (fault === undefined) program?.ended.resolve(code ?? undefined);
  else program?.ended.reject(new Error(`git could not be started: ${fault}`));
}

function endLauncher(server: Server, folder: string, programs: Launcher['programs']): void {
  launcher = undefined;
  server.close();
  rmSync(folder, { recursive: true, force: true });
  for (const { ended, sockets } of programs.values()) {
    ended.reject(new Error('The launcher of git has ended.'));
    for (const socket of sockets) socket?.destroy();
  }
}
