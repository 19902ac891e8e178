/**
 * Finds out at the agent's start whether the sandbox holds on this machine, by a script that tries to get out
 * of it: it looks for the agent's files and processes, opens connections, mounts, forks, fills the disk, maps
 * memory that no limit counts, takes what counts for the agent's user, and raises its priority.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { pendingSignals } from './sandbox.ts';
import type { ScriptJob } from './script-job.ts';
import { runScript, type ScriptMeans } from './script-process.ts';
import { findSystemCalls } from './system-calls.ts';

/** A busy machine is no reason to turn scripts off. */
const seconds = 600;
const bounds = {
  timeSeconds: seconds,
  memoryMegabytes: 256,
  diskMegabytes: 2,
  processes: 16,
  outputKilobytes: 64,
  concurrency: 1,
};

/** @returns undefined if the interpreter runs in the sandbox */
export async function findPythonFault(
  means: Pick<ScriptMeans, 'confinement' | 'hiddenFolder' | 'python' | 'folders'>,
  kill: AbortSignal,
): Promise<string | undefined> {
  const lines: string[] = [];
  const end = await runScript(
    { ...emptyJob, component: 'python-script', language: 'python', text: 'import json' },
    { onLine: (_, line) => lines.push(line), answer: async () => 'null' },
    { ...means, bounds, network: false },
    kill,
  );
  return end.succeeded ? undefined : [end.message, lines.at(-1)].filter(Boolean).join(': ');
}

const emptyJob = { scalars: [], grids: [], packages: [], timeoutSeconds: undefined };

interface Targets {
  file: string;
  token: string;
  port: number;
}

/**
 * @param means bounds and network are for the test of the probe itself
 * @returns undefined if nothing got through, else what did, or why no script can be started
 */
export async function findFault(
  means: Pick<ScriptMeans, 'confinement' | 'hiddenFolder' | 'folders'> &
    Partial<Pick<ScriptMeans, 'bounds' | 'network'>>,
  kill: AbortSignal,
): Promise<string | undefined> {
  const token = randomUUID();
  const file = join(means.hiddenFolder, 'script-probe');
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined).destroy();
  }).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    await writeFile(file, token, { mode: 0o600 });
    const { port } = server.address() as AddressInfo;
    const lines: string[] = [];
    const end = await runScript(
      createProbe({ file, token, port }),
      {
        onLine: (_, line) => lines.push(line),
        answer: async () => 'null',
      },
      { bounds, network: false, python: '', ...means },
      kill,
    );
    if (!end.succeeded) return end.message ?? 'the probe failed';
    const through = lines.filter((line) => line.startsWith('through: ')).map((line) => line.slice(9));
    if (connections > 0) through.push('a connection');
    if (through.length > 0) return `${through.join(', ')} got through`;
    return lines.includes('done') ? undefined : 'the probe did not finish';
  } finally {
    server.close();
    await rm(file, { force: true });
  }
}

function createProbe({ file, token, port }: Targets): ScriptJob {
  const calls = findSystemCalls(process.arch);
  const [mmap, setsid, prioritize, epoll, inotify] = [
    calls?.filtered.mmap,
    calls?.refused.setsid,
    calls?.sandbox.sched_setscheduler,
    calls?.absent.epoll_create1,
    calls?.absent.inotify_init1,
  ];
  const text = `
through() { echo "through: $1"; }
[ "$(cat '${file}')" = '${token}' ] && through "a file of the agent"
[ -e "/proc/$agent/status" ] && grep -qs node "/proc/$agent/comm" && through "the agent in /proc"
[ "$(ls -d /proc/[0-9]* | wc -l)" -gt 12 ] && through "other processes in /proc"
(exec 5<>/dev/tcp/127.0.0.1/${port}) && through "a TCP connection"
echo x > /usr/headgate-probe && through "a write to /usr"
echo x > /headgate-probe && through "a write to /"
unshare --user --map-root-user true && through "a user namespace"
[ "$(grep ^CapEff /proc/self/status | tr -d 'CapEf:[:space:]0')" ] && through "a privilege"
head -c 4000000 /dev/zero > /tmp/disk && through "a file larger than the disk"
forked=$(perl -e 'for (1 .. 40) { my $child = fork; last unless defined $child; if (!$child) { close STDOUT; sleep 9; exit } $count++ } print $count')
[ "\${forked:-0}" -gt 20 ] && through "more processes than allowed"
perl -e 'exit 1 if syscall(${mmap}, 0, 4096, 3, 0x21, -1, 0) < 0' && through "shared memory"
perl -e 'open my $zero, "+<", "/dev/zero" or exit 1; exit 1 if syscall(${mmap}, 0, 4096, 3, 1, fileno $zero, 0) < 0' && through "shared memory of /dev/zero"
perl -e 'exit 1 if fork || syscall(${setsid}) < 0; print "session"' | grep -qs session && through "a session of its own"
perl -e '$normal = pack "l", 0; exit 1 if syscall(${prioritize}, 0, 0, $normal) < 0' && through "a normal priority"
perl -e 'exit 1 if syscall(${epoll}, 0) < 0' && through "epoll, which counts for the agent’s user"
perl -e 'exit 1 if syscall(${inotify}, 0) < 0' && through "inotify, which counts for the agent’s user"
[ "$(ulimit -i)" -gt ${pendingSignals} ] && through "more pending signals than allowed"
grep -qsF '${file.slice(0, file.lastIndexOf('/'))}' /proc/1/cmdline && through "the name of the agent’s folder"
echo done
`;
  return {
    ...emptyJob,
    component: 'bash-script',
    language: 'bash',
    text,
    scalars: [{ name: 'agent', type: 'NUMBER', value: process.pid }],
  };
}
