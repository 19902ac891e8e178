/** An SFTP server that can misbehave: it takes a password, lists what a test says, hangs, and has no extensions. */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import ssh2, { type Connection, type SFTPWrapper } from 'ssh2';

export interface FakeSftp {
  port: number;
  username: string;
  password: string;
  hostKey: string;
  files: Map<string, Buffer>;
  /** Names that each folder lists, in the place of its files. */
  listed: string[] | undefined;
  /** Requests that are never answered. */
  hangs: Set<string>;
  /** Bytes that a written file loses. */
  loses: number;
  close(): Promise<void>;
}

const [OK, END, MISSING, UNSUPPORTED] = [0, 1, 2, 8];
const fileMode = 0o100_644;
const folderMode = 0o040_755;

export async function startFakeSftp(): Promise<FakeSftp> {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const parsed = ssh2.utils.parseKey(privateKey);
  if (parsed instanceof Error) throw parsed;
  const state: FakeSftp = {
    ...{ port: 0, username: 'ann', password: 'a long pass phrase', files: new Map(), listed: undefined },
    ...{ hangs: new Set(), loses: 0, close: async () => undefined },
    hostKey: `ssh-rsa ${parsed.getPublicSSH().toString('base64')}`,
  };
  const open = new Set<Connection>();
  const server = new ssh2.Server({ hostKeys: [privateKey] }, (client) => {
    open.add(client);
    client.on('error', () => undefined);
    client.on('close', () => open.delete(client));
    client.on('authentication', (asked) => {
      const isRight =
        asked.method === 'password' && asked.username === state.username && asked.password === state.password;
      if (isRight) asked.accept();
      else asked.reject(['password']);
    });
    client.on('session', (accept) => {
      accept().on('sftp', (acceptSftp) => serve(state, acceptSftp()));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state.port = (server.address() as AddressInfo).port;
  state.close = async () => {
    for (const client of open) client.end();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return state;
}

function serve(state: FakeSftp, sftp: SFTPWrapper): void {
  const handles = new Map<string, { path: string; isRead: boolean }>();
  let last = 0;
  const on = (name: string, answer: (id: number, ...values: never[]) => void) =>
    sftp.on(name, (id: number, ...values: never[]) => {
      if (!state.hangs.has(name)) answer(id, ...values);
    });
  const openHandle = (id: number, path: string) => {
    last += 1;
    handles.set(String(last), { path, isRead: false });
    sftp.handle(id, Buffer.from(String(last)));
  };
  const describe = (path: string) => {
    const bytes = state.files.get(path);
    const isFolder = [...state.files.keys()].some((name) => name.startsWith(path === '/' ? '/' : `${path}/`));
    if (bytes === undefined && !isFolder) return undefined;
    const mode = bytes === undefined ? folderMode : fileMode;
    return { mode, size: bytes?.length ?? 0, uid: 0, gid: 0, atime: 1, mtime: 1 };
  };
  const answerStat = (id: number, path: string) => {
    const attributes = describe(path);
    if (attributes === undefined) sftp.status(id, MISSING);
    else sftp.attrs(id, attributes);
  };
  const find = (handle: Buffer) => handles.get(handle.toString()) ?? { path: '', isRead: true };
  on('OPENDIR', (id, path: string) =>
    describe(path) === undefined ? sftp.status(id, MISSING) : openHandle(id, path),
  );
  on('READDIR', (id, handle: Buffer) => {
    const folder = find(handle);
    if (folder.isRead) return sftp.status(id, END);
    folder.isRead = true;
    const prefix = folder.path === '/' ? '/' : `${folder.path}/`;
    const below = [...state.files.keys()]
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length));
    const names = state.listed ?? [...new Set(below.map((name) => name.split('/')[0] ?? ''))];
    sftp.name(
      id,
      names.map((filename) => ({
        ...{ filename, longname: filename },
        attrs: describe(`${prefix}${filename}`) ?? {
          mode: fileMode,
          size: 1,
          uid: 0,
          gid: 0,
          atime: 1,
          mtime: 1,
        },
      })),
    );
  });
  on('OPEN', (id, path: string, flags: number) => {
    const isWrite = (flags & 2) !== 0;
    if (isWrite) state.files.set(path, Buffer.alloc(0));
    if (state.files.has(path)) openHandle(id, path);
    else sftp.status(id, MISSING);
  });
  on('READ', (id, handle: Buffer, offset: number, length: number) => {
    const bytes = state.files.get(find(handle).path)?.subarray(offset, offset + Math.min(length, 1_000));
    if (bytes === undefined || bytes.length === 0) sftp.status(id, END);
    else sftp.data(id, bytes);
  });
  on('WRITE', (id, handle: Buffer, offset: number, bytes: Buffer) => {
    const { path } = find(handle);
    const before = state.files.get(path) ?? Buffer.alloc(0);
    const whole = Buffer.alloc(Math.max(before.length, offset + bytes.length - state.loses));
    before.copy(whole);
    bytes.copy(whole, offset);
    state.files.set(path, whole);
    sftp.status(id, OK);
  });
  on('CLOSE', (id) => sftp.status(id, OK));
  on('FSTAT', (id, handle: Buffer) => answerStat(id, find(handle).path));
  on('STAT', answerStat);
  on('LSTAT', answerStat);
  on('MKDIR', (id) => sftp.status(id, OK));
  on('REMOVE', (id, path: string) => sftp.status(id, state.files.delete(path) ? OK : MISSING));
  on('RENAME', (id, from: string, to: string) => {
    const bytes = state.files.get(from);
    if (bytes === undefined || state.files.has(to)) return sftp.status(id, 4);
    state.files.set(to, bytes);
    state.files.delete(from);
    sftp.status(id, OK);
  });
  on('EXTENDED', (id) => sftp.status(id, UNSUPPORTED));
}
