/** OpenSSH's server on loopback for tests, as a user that owns nothing else. Its users have keys, no passwords. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const program = '/usr/sbin/sshd';

/** Why there is no server here; false if there is one. */
export const sshdIsMissing = existsSync(program)
  ? false
  : 'sshd is not installed: apt-get install openssh-server';

export interface Sshd {
  host: string;
  port: number;
  username: string;
  privateKey: string;
  /** Of the server. */
  fingerprint: string;
  publicKey: string;
  /** A folder in which the user may write. */
  folder: string;
  /** Ends the connections that there are. */
  drop(): void;
  close(): Promise<void>;
}

export async function startSshd(): Promise<Sshd> {
  const root = mkdtempSync(join(tmpdir(), 'headgate-sshd-'));
  chmodSync(root, 0o755);
  const isRoot = process.getuid?.() === 0;
  const [uid, gid] = isRoot ? [65_534, 65_534] : [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  const username = isRoot ? 'nobody' : userInfo().username;
  for (const name of ['host', 'user']) {
    const made = spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(root, name)]);
    if (made.status !== 0) throw new Error(String(made.stderr));
    chownSync(join(root, name), uid, gid);
  }
  const folder = join(root, 'files');
  mkdirSync(folder);
  chownSync(folder, uid, gid);
  writeFileSync(join(root, 'authorized'), readFileSync(join(root, 'user.pub')));
  const port = await findPort();
  writeFileSync(
    join(root, 'config'),
    [
      ...[
        `Port ${port}`,
        'ListenAddress 127.0.0.1',
        `HostKey ${join(root, 'host')}`,
        'PidFile none',
        'UsePAM yes',
      ],
      ...['StrictModes no', `AuthorizedKeysFile ${join(root, 'authorized')}`, 'PasswordAuthentication no'],
      ...['Subsystem sftp internal-sftp', 'ForceCommand internal-sftp', ''],
    ].join('\n'),
  );
  const server = spawn(program, ['-D', '-e', '-f', join(root, 'config')], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
    ...(isRoot ? { uid, gid } : {}),
  });
  let said = '';
  server.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await waitForServer(server, port, () => said);
  const publicKey = readFileSync(join(root, 'host.pub'), 'utf8').trim();
  const [, fingerprint = ''] = String(spawnSync('ssh-keygen', ['-lf', join(root, 'host.pub')]).stdout).split(
    ' ',
  );
  return {
    ...{ host: '127.0.0.1', port, username, fingerprint, publicKey, folder },
    privateKey: readFileSync(join(root, 'user'), 'utf8'),
    drop() {
      endAll(listChildren(server.pid ?? 0));
    },
    async close() {
      const exit = once(server, 'exit');
      endAll(listChildren(server.pid ?? 0));
      server.kill('SIGKILL');
      await exit;
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** One may have ended by itself. */
function endAll(processes: readonly number[]): void {
  for (const pid of processes) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {}
  }
}

/** The processes of its connections. */
function listChildren(pid: number): number[] {
  const found = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)]);
  const children = String(found.stdout)
    .split('\n')
    .map(Number)
    .filter((child) => child > 0);
  return children.flatMap((child) => [...listChildren(child), child]);
}

async function waitForServer(server: ChildProcess, port: number, describe: () => string): Promise<void> {
  for (let count = 0; count < 600; count += 1) {
    if (server.exitCode !== null) throw new Error(`sshd has ended: ${describe()}`);
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen === true) return;
    await sleep(50);
  }
  throw new Error(`sshd does not listen: ${describe()}`);
}

/** Below the ports that the system gives to connections, and above those of the agent's tests and of installations. */
async function findPort(): Promise<number> {
  for (let count = 0; count < 100; count += 1) {
    const port = 30_000 + Math.floor(Math.random() * 1_000);
    const server = createServer();
    const isFree = await new Promise((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    server.close();
    if (isFree === true) return port;
  }
  throw new Error('there is no free port');
}
