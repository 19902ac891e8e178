/**
 * Starts a program in the sandbox of scripts, which `sandbox.pl` builds: namespaces of its own for users,
 * mounts, processes, network, messages and names; a file system of the system's programs, read-only, and a
 * disk of its own in memory; no privileges; bounds by the kernel. ADR 0044.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import type { Duplex, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { encodeCallFilter } from './call-filter.ts';
import type { ScriptBounds } from './script-settings.ts';
import { findSystemCalls } from './system-calls.ts';

/** A file below /headgate, a variable of the environment, or an argument of the command. */
export type Frame =
  | { kind: 'file'; name: string; text: string }
  | { kind: 'set'; name: string; text: string }
  | { kind: 'argument'; text: string };

export interface SandboxOptions {
  frames: readonly Frame[];
  bounds: ScriptBounds;
  network: boolean;
  /** Whether the program keeps descriptor 3. */
  channel: boolean;
  /** Shown read-only, besides the system's. */
  folders: readonly string[];
  /** The agent's folder, which is never shown. */
  hiddenFolder: string;
}

export interface Sandbox {
  process: ChildProcess;
  stdout: Readable;
  stderr: Readable;
  channel: Duplex;
  /** Ends all of its processes. Does nothing if they have ended. */
  kill(): void;
}

/**
 * Signals with data and timers of POSIX that a script may have pending. They count for the agent's user too, whose
 * limit is some thousands.
 */
export const pendingSignals = 256;

/** The user of scripts if the agent is root, outside of the ranges that systems use. */
const userOfRoot = 2_147_400_044;

const programFolders = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** Settings of programs. No secret is among them. */
const settingFiles = [
  '/etc/alternatives',
  '/etc/bash.bashrc',
  '/etc/ca-certificates',
  '/etc/debian_version',
  '/etc/fonts',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/localtime',
  '/etc/magic',
  '/etc/mime.types',
  '/etc/nsswitch.conf',
  '/etc/os-release',
  '/etc/pki/ca-trust',
  '/etc/pki/tls/certs',
  '/etc/protocols',
  '/etc/services',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/timezone',
];
const networkFiles = ['/etc/hosts', '/etc/resolv.conf', '/etc/gai.conf'];

/** With the files that they link to, which may be in /run. */
function findNetworkFiles(): string[] {
  return networkFiles.flatMap((path) => (existsSync(path) ? [path, realpathSync(path)] : []));
}

/** @throws Error if this machine's architecture is not known. */
export function startSandbox(options: SandboxOptions): Sandbox {
  const calls = findSystemCalls(process.arch);
  const filter = encodeCallFilter(options.network);
  if (calls === undefined || filter === undefined)
    throw new Error(`scripts need a machine of x64 or arm64; this one is ${process.arch}`);
  const { memoryMegabytes, diskMegabytes, processes } = options.bounds;
  const shown = new Set([
    ...programFolders,
    ...settingFiles,
    ...(options.network ? findNetworkFiles() : []),
    ...options.folders,
  ]);
  const settings: [string, string | number][] = [
    ['parent', process.pid],
    ['root', process.getuid?.() === 0 ? 1 : 0],
    ['user', userOfRoot],
    ['network', options.network ? 1 : 0],
    ['channel', options.channel ? 1 : 0],
    ['hide', options.hiddenFolder],
    ['disk', diskMegabytes * 1_048_576],
    ['memory', memoryMegabytes * 1_048_576],
    ['processes', processes],
    ['signals', pendingSignals],
    ['filter', filter.toString('hex')],
    ...[...shown].map((path): [string, string] => ['bind', path]),
    ...Object.entries(calls.sandbox).map(([name, number]): [string, number] => [`call.${name}`, number]),
  ];
  const child = spawn(
    '/usr/bin/perl',
    [
      fileURLToPath(new URL('./sandbox.pl', import.meta.url)),
      ...settings.map(([name, value]) => `${name}=${value}`),
    ],
    // The agent's environment may contain its secret.
    { env: {}, cwd: '/', detached: true, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] },
  );
  const [, stdout, stderr, channel] = child.stdio as unknown as [null, Readable, Readable, Duplex];
  channel.on('error', () => undefined);
  channel.write(encodeFrames(options.frames));
  return { process: child, stdout, stderr, channel, kill: () => killGroup(child) };
}

function encodeFrames(frames: readonly Frame[]): Buffer {
  const parts = frames.flatMap((frame) => {
    const bytes = Buffer.from(frame.text);
    const name = frame.kind === 'argument' ? '' : frame.name;
    return [Buffer.from(`${frame.kind} ${bytes.length} ${name}\n`), bytes];
  });
  return Buffer.concat([...parts, Buffer.from('end\n')]);
}

function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  // Its id may belong to another process once it has ended.
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
