/**
 * An SFTP server as a store: keys are paths from the root of the server, or from the user's home after `~/`. A file is
 * written under another name and renamed when it is complete and has the size that was sent.
 */
import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import type { Egress } from '@headgate/contract/egress';
import { PermanentFault } from '@headgate/pipelines';
import type { FileEntryWithStats, Stats } from 'ssh2';
import { createBackoff } from '../../backoff.ts';
import { ExchangeError } from '../../connectors/exchange.ts';
import { attemptLimit } from '../../connectors/waiting.ts';
import { checkListed } from '../listed-objects.ts';
import type { ObjectStore, StoredObject } from '../object-store.ts';
import type { StoreTime } from '../store-calls.ts';
import { readBytes, writeBytes } from './sftp-bytes.ts';
import {
  openConnection,
  type SftpBounds,
  type SftpConnection,
  SftpFault,
  type SftpServer,
} from './sftp-connection.ts';

export interface SftpOptions {
  server: SftpServer;
  egress: Egress;
  time: StoreTime;
  bounds?: SftpBounds;
}

const standardBounds: SftpBounds = { connectMilliseconds: 30_000, answerMilliseconds: 60_000 };

/** Files and folders of one list, and folders within each other. */
const entryLimit = 200_000;
const depthLimit = 64;
const isMissing = (error: unknown) => error instanceof SftpFault && error.status === 2;

export function createSftpStore({ server, egress, time, bounds = standardBounds }: SftpOptions): ObjectStore {
  let opening: Promise<SftpConnection> | undefined;
  let isClosed = false;

  /** The one connection of the store, which many requests share. */
  async function connect(signal: AbortSignal): Promise<SftpConnection> {
    const before = await opening?.catch(() => undefined);
    if (before !== undefined && !before.isBroken) return before;
    if (isClosed) throw new Error('the run has ended');
    const started = openConnection(server, egress, bounds, signal);
    opening = started;
    const connection = await started;
    if (isClosed) connection.close();
    return connection;
  }

  /** Repeats what has no effect, or the same effect again. */
  async function attempt<Result>(
    signal: AbortSignal,
    work: (connection: SftpConnection) => Promise<Result>,
  ): Promise<Result> {
    const backoff = createBackoff({ firstMilliseconds: 500, limitMilliseconds: 30_000, random: time.random });
    for (let count = 1; ; count += 1) {
      try {
        return await work(await connect(signal));
      } catch (error) {
        const mayPass = error instanceof ExchangeError && error.isTransient && !signal.aborted;
        if (!mayPass || count === attemptLimit) throw error;
      }
      await time.sleep(backoff.next(), signal);
      signal.throwIfAborted();
    }
  }

  const stat = (key: string, signal: AbortSignal) =>
    attempt(signal, async ({ sftp, ask }) => {
      const stats = await ask<Stats>(signal, (done) => sftp.stat(locate(key), done)).catch((error) => {
        throw nameFile(error, key);
      });
      if (!stats.isFile()) throw new PermanentFault(`"${key}" is no file on ${server.name}: name a file`);
      return describe(key, stats);
    });

  async function* list(
    prefix: string,
    signal: AbortSignal,
    scope: 'folder' | 'all' = 'all',
  ): AsyncGenerator<readonly StoredObject[]> {
    const open = [prefix.slice(0, prefix.lastIndexOf('/') + 1)];
    let entries = 0;
    for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
      const from = folder;
      const found = await attempt(signal, (connection) =>
        readFolder(connection, from, entryLimit - entries, signal),
      );
      entries += found.length;
      const objects: StoredObject[] = [];
      for (const { name, stats } of found) {
        const key = `${folder}${name}`;
        if (stats.isFile() && key.startsWith(prefix)) objects.push(describe(key, stats));
        const below = `${key}/`;
        const isAsked = scope === 'all' && (below.startsWith(prefix) || prefix.startsWith(below));
        if (stats.isDirectory() && isAsked) open.push(below);
      }
      requireDepth(folder);
      yield checkListed(objects, prefix, server.name);
    }
  }

  /** Sorted. A link to a file is a file; one to a folder is left out, because it may lead to itself. */
  async function readFolder(
    { sftp, ask }: SftpConnection,
    folder: string,
    limit: number,
    signal: AbortSignal,
  ) {
    const path = folder === '' ? '/' : locate(folder);
    const handle = await ask<Buffer>(signal, (done) => sftp.opendir(path, done)).catch((error) => {
      if (isMissing(error)) return undefined;
      throw nameFile(error, folder);
    });
    if (handle === undefined) return [];
    const found: { name: string; stats: Stats }[] = [];
    try {
      for (;;) {
        const page = await readPage(handle);
        if (page === undefined) break;
        for (const { filename, attrs } of page) {
          if (filename === '.' || filename === '..') continue;
          requireName(filename);
          if (found.length >= limit)
            throw new PermanentFault(
              `what begins with "${folder}" on ${server.name} has more than ${entryLimit} files and folders: name a longer prefix`,
            );
          const stats = attrs.isSymbolicLink() ? await followLink(`${folder}${filename}`) : attrs;
          if (stats !== undefined) found.push({ name: filename, stats });
        }
      }
    } finally {
      await ask(signal, (done) => sftp.close(handle, (error) => done(error, undefined))).catch(
        () => undefined,
      );
    }
    return found.toSorted((one, other) => (one.name < other.name ? -1 : 1));

    async function readPage(of: Buffer): Promise<FileEntryWithStats[] | undefined> {
      // The end is a status of its own.
      return ask<FileEntryWithStats[]>(signal, (done) => sftp.readdir(of as unknown as string, done)).catch(
        (error) => {
          if (error instanceof SftpFault && error.status === 1) return undefined;
          throw error;
        },
      );
    }

    async function followLink(key: string): Promise<Stats | undefined> {
      const stats = await ask<Stats>(signal, (done) => sftp.stat(locate(key), done)).catch((error) => {
        if (error instanceof SftpFault) return undefined;
        throw error;
      });
      return stats?.isFile() === true ? stats : undefined;
    }
  }

  function requireName(name: string): void {
    if (name === '' || name.includes('/') || name.includes('\0'))
      throw new PermanentFault(
        `${server.name} listed ${JSON.stringify(name.slice(0, 200))}, which is no name of a file`,
      );
  }

  function requireDepth(folder: string): void {
    if (folder.split('/').length > depthLimit)
      throw new PermanentFault(
        `${server.name} has folders that are nested more than ${depthLimit} deep: name a longer prefix`,
      );
  }

  async function write(key: string, body: AsyncIterable<Buffer>, signal: AbortSignal): Promise<number> {
    // What was sent is not sent again, so only the connection is tried several times.
    const connection = await attempt(signal, async (opened) => {
      await makeFolders(opened, posix.dirname(locate(key)), signal);
      return opened;
    });
    const { sftp, ask } = connection;
    const [path, folder] = [locate(key), posix.dirname(locate(key))];
    const partial = posix.join(folder, `.headgate-${randomUUID()}.partial`);
    try {
      const bytes = await writeBytes(connection, partial, body, signal);
      const { size } = await ask<Stats>(signal, (done) => sftp.stat(partial, done));
      if (size !== bytes)
        throw new PermanentFault(
          `${server.name} has ${size} bytes of "${key}", and ${bytes} were sent: run again`,
        );
      await rename(connection, partial, path, signal);
      return bytes;
    } catch (error) {
      const left = AbortSignal.timeout(10_000);
      await ask(left, (done) => sftp.unlink(partial, (failure) => done(failure, undefined))).catch(
        () => undefined,
      );
      throw nameFile(error, key);
    }
  }

  /** Replaces a file at once, if the server can; else it is away for a moment. */
  async function rename(
    { sftp, ask }: SftpConnection,
    from: string,
    to: string,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await ask(signal, (done) => sftp.ext_openssh_rename(from, to, (error) => done(error, undefined)));
    } catch (error) {
      const isUnknown =
        error instanceof SftpFault ? error.status === 8 : /not support/i.test((error as Error).message);
      if (!isUnknown) throw error;
      await ask(signal, (done) => sftp.unlink(to, (failure) => done(failure, undefined))).catch((failure) => {
        if (!isMissing(failure)) throw failure;
      });
      await ask(signal, (done) => sftp.rename(from, to, (failure) => done(failure, undefined)));
    }
  }

  async function makeFolders(connection: SftpConnection, folder: string, signal: AbortSignal): Promise<void> {
    const { sftp, ask } = connection;
    const found = await ask<Stats>(signal, (done) => sftp.stat(folder, done)).catch((error) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (found !== undefined) return;
    if (posix.dirname(folder) !== folder) await makeFolders(connection, posix.dirname(folder), signal);
    await ask(signal, (done) => sftp.mkdir(folder, (error) => done(error, undefined))).catch((error) => {
      // Another write may have made it.
      if (!(error instanceof SftpFault && error.status === 4)) throw nameFile(error, folder);
    });
  }

  const store: ObjectStore = {
    list,
    stat,
    write,
    async read(key, { from, version }, signal, use) {
      const connection = await connect(signal);
      return readBytes(connection, locate(key), from, signal, async (body, stats) => {
        if (version !== '' && describe(key, stats).version !== version)
          throw new PermanentFault(`"${key}" was changed while it was read; run again`);
        return use(body);
      }).catch((error) => {
        throw nameFile(error, key);
      });
    },
    remove: (key, signal) =>
      attempt(signal, async ({ sftp, ask }) => {
        await ask(signal, (done) => sftp.unlink(locate(key), (error) => done(error, undefined))).catch(
          (error) => {
            if (!isMissing(error)) throw nameFile(error, key);
          },
        );
      }),
    async copy(from, to, signal) {
      const { version } = await stat(from, signal);
      await store.read(from, { from: 0, version }, signal, (body) => write(to, body, signal));
    },
    close() {
      isClosed = true;
      void opening?.then(
        (connection) => connection.close(),
        () => undefined,
      );
    },
  };
  return store;
}

/** The path on the server. */
const locate = (key: string) => {
  const path = key.endsWith('/') ? key.slice(0, -1) : key;
  if (path === '~') return '.';
  return path.startsWith('~/') ? path.slice(2) : `/${path}`;
};

const describe = (key: string, { size, mtime }: Stats): StoredObject => ({
  key,
  size,
  modified: new Date(mtime * 1_000).toISOString(),
  version: `${size}-${mtime}`,
});

function nameFile(error: unknown, key: string): unknown {
  if (error instanceof SftpFault && !error.message.includes(`"${key}"`))
    error.message = `"${key}": ${error.message}`;
  return error;
}
