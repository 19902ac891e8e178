/**
 * Published versions on the agent's disk, each checked once and then sealed, so that SQL can read but not change them.
 *
 * A version is trusted only when its manifest lies in the `verified` folder, where SQL cannot write: while a version is moved in place its
 * project's folder must be open for a moment, and what a statement might put there then must not be taken for a version.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ArtifactManifest, canonicalManifest } from '@headgate/contract';
import { retrying } from './backoff.ts';
import { type ControlPlane, mayPass } from './control-plane.ts';
import { type Folders, privateFolder, removeTree } from './folders.ts';
import { type Log, reasonOf } from './log.ts';

const parallelFetches = 4;
const attemptsPerFile = 6;
const segmentLimitBytes = 255;

type ManifestFile = ArtifactManifest['files'][number];

export interface HeldArtifact {
  /** Absolute path of the folder of its files. */
  folder: string;
  /** The paths of its files inside that folder. */
  paths: readonly string[];
  /** Gives it back; until then it is not evicted. */
  release(): void;
}

interface Entry {
  projectId: string;
  digest: string;
  manifest: ArtifactManifest;
  bytes: number;
  lastUsed: number;
  users: number;
}

export interface ArtifactCacheOptions {
  folders: Folders;
  limitBytes: number;
  source: Pick<ControlPlane, 'artifact' | 'blob'>;
  log: Log;
}

export class ArtifactCache {
  readonly #options: ArtifactCacheOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #fetching = new Map<string, { entry: Promise<Entry>; signal: AbortSignal }>();
  /** Changes to a project's folder happen in turn, for each opens and seals it. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: ArtifactCacheOptions) {
    this.#options = options;
  }

  /** Takes over what an earlier process left and removes what it had not finished. */
  static async open(options: ArtifactCacheOptions): Promise<ArtifactCache> {
    const cache = new ArtifactCache(options);
    const { folders } = options;
    await removeTree(folders.incoming);
    for (const folder of [folders.artifacts, folders.verified, folders.incoming]) await privateFolder(folder);
    for (const projectId of await readdir(folders.verified)) {
      for (const name of await readdir(folders.projectVerified(projectId))) {
        await cache.#takeOver(projectId, name.replace(/\.json$/, ''));
      }
    }
    return cache;
  }

  /**
   * The version with this digest, fetched and checked if it is not there.
   *
   * @throws Error in the user's words: a file with another hash than its manifest says, a path that cannot be written, a version too large.
   */
  async acquire(projectId: string, digest: string, signal: AbortSignal): Promise<HeldArtifact> {
    const key = `${projectId}/${digest}`;
    let entry = this.#entries.get(key);
    if (!entry) {
      let fetching = this.#fetching.get(key);
      if (!fetching) {
        const fetched = this.#fetch(projectId, digest, signal).finally(() => this.#fetching.delete(key));
        fetching = { entry: fetched, signal };
        this.#fetching.set(key, fetching);
      }
      try {
        entry = await fetching.entry;
      } catch (error) {
        signal.throwIfAborted();
        // The run that had begun this fetch was ended, and its fetch with it.
        if (fetching.signal.aborted) return this.acquire(projectId, digest, signal);
        throw error;
      }
    }
    return this.#hold(entry);
  }

  #hold(entry: Entry): HeldArtifact {
    entry.users += 1;
    entry.lastUsed = Date.now();
    const used = new Date(entry.lastUsed);
    void utimes(this.#marker(entry), used, used).catch(() => undefined);
    let held = true;
    return {
      folder: join(this.#place(entry), 'files'),
      paths: entry.manifest.files.map((file) => file.path),
      release: () => {
        if (held) entry.users -= 1;
        held = false;
      },
    };
  }

  async #fetch(projectId: string, digest: string, signal: AbortSignal): Promise<Entry> {
    const { source, folders, limitBytes, log } = this.#options;
    if (!/^[0-9a-f]{64}$/.test(digest))
      throw new Error(`the artifact’s digest ${JSON.stringify(digest)} is not a SHA-256`);
    const manifest = await patient(() => source.artifact(digest, signal), signal);
    const found = createHash('sha256').update(canonicalManifest(manifest.files)).digest('hex');
    if (found !== digest) {
      throw new Error(`the server answered another artifact (${found}) than the one asked for (${digest})`);
    }
    const bytes = manifest.files.reduce((sum, file) => sum + file.size, 0);
    if (bytes > limitBytes) {
      throw new Error(
        `the artifact’s files have ${bytes} bytes and the agent’s cache ${limitBytes}: raise HEADGATE_AGENT_ARTIFACT_CACHE_MB`,
      );
    }
    for (const file of manifest.files) checkPath(file.path);
    await this.#evict(limitBytes - bytes);
    const incoming = join(folders.incoming, randomUUID());
    try {
      await this.#fetchFiles(join(incoming, 'files'), manifest.files, signal);
      const entry: Entry = { projectId, digest, manifest, bytes, lastUsed: Date.now(), users: 0 };
      await this.#install(entry, incoming);
      log.info('artifact fetched', { projectId, digest, files: manifest.files.length, bytes });
      return entry;
    } finally {
      await removeTree(incoming);
    }
  }

  async #fetchFiles(folder: string, files: readonly ManifestFile[], signal: AbortSignal): Promise<void> {
    await mkdir(folder, { recursive: true });
    const waiting = files.values();
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const worker = async () => {
      try {
        for (const file of waiting) {
          const target = join(folder, file.path);
          await mkdir(dirname(target), { recursive: true });
          await patient(() => this.#fetchFile(target, file, either), either);
        }
      } catch (error) {
        failed.abort(error);
        throw error;
      }
    };
    const workers = Array.from({ length: parallelFetches }, worker);
    await Promise.allSettled(workers);
    await Promise.all(workers);
    await seal(folder);
  }

  async #fetchFile(target: string, file: ManifestFile, signal: AbortSignal): Promise<void> {
    const hash = createHash('sha256');
    let size = 0;
    const check = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        size += chunk.length;
        hash.update(chunk);
        done(size > file.size ? new DamagedFile(file, `more than ${file.size} bytes`) : null, chunk);
      },
    });
    const bytes = Readable.from(await this.#options.source.blob(file.sha256, signal));
    try {
      // `wx`: two paths that the file system takes for one must not overwrite each other.
      await pipeline(bytes, check, createWriteStream(target, { flags: 'wx', mode: 0o444 }), { signal });
      if (size !== file.size)
        throw new Error(`${file.path}: the transfer ended after ${size} of ${file.size} bytes`);
      const found = hash.digest('hex');
      if (found !== file.sha256) throw new DamagedFile(file, `SHA-256 ${found}`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
        throw new DamagedFile(file, 'a name that another file of the artifact has on this file system');
      }
      await rm(target, { force: true });
      throw error;
    }
  }

  /** Only the outer folder is ever open for writing where SQL could see it; the files inside are sealed before. */
  async #install(entry: Entry, incoming: string): Promise<void> {
    const { folders } = this.#options;
    const project = folders.projectArtifacts(entry.projectId);
    const place = this.#place(entry);
    await this.#opened(project, async () => {
      await removeTree(place);
      await rename(incoming, place);
      await chmod(place, 0o555);
    });
    await privateFolder(folders.projectVerified(entry.projectId));
    const marker = this.#marker(entry);
    await writeFile(`${marker}.new`, JSON.stringify(entry.manifest), { mode: 0o600 });
    await rename(`${marker}.new`, marker);
    this.#entries.set(`${entry.projectId}/${entry.digest}`, entry);
  }

  async #takeOver(projectId: string, digest: string): Promise<void> {
    const entry = { projectId, digest };
    const marker = this.#marker(entry);
    try {
      const manifest = JSON.parse(await readFile(marker, 'utf8')) as ArtifactManifest;
      if (manifest.digest !== digest) throw new Error('the manifest is of another version');
      await stat(join(this.#place(entry), 'files'));
      const bytes = manifest.files.reduce((sum, file) => sum + file.size, 0);
      const lastUsed = (await stat(marker)).mtimeMs;
      this.#entries.set(`${projectId}/${digest}`, { ...entry, manifest, bytes, lastUsed, users: 0 });
    } catch (error) {
      this.#options.log.warn('an artifact is not used again', { projectId, digest, reason: reasonOf(error) });
      await rm(marker, { force: true });
    }
  }

  /** Removes what was longest unused until at most `limit` bytes are kept. What is in use stays, even above the limit. */
  async #evict(limit: number): Promise<void> {
    let kept = 0;
    for (const entry of this.#entries.values()) kept += entry.bytes;
    const unused = [...this.#entries.values()].filter((entry) => entry.users === 0);
    unused.sort((a, b) => a.lastUsed - b.lastUsed);
    for (const entry of unused) {
      if (kept <= limit) return;
      if (entry.users > 0) continue;
      this.#entries.delete(`${entry.projectId}/${entry.digest}`);
      kept -= entry.bytes;
      await this.#remove(entry);
    }
  }

  async #remove(entry: Entry): Promise<void> {
    const project = this.#options.folders.projectArtifacts(entry.projectId);
    await rm(this.#marker(entry), { force: true });
    await this.#opened(project, () => removeTree(this.#place(entry)));
  }

  async #opened(project: string, change: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(async () => {
      await mkdir(project, { recursive: true });
      await chmod(project, 0o755);
      try {
        await change();
      } finally {
        await chmod(project, 0o555);
      }
    });
    this.#turn = mine.catch(() => undefined);
    await mine;
  }

  #place(entry: { projectId: string; digest: string }): string {
    return join(this.#options.folders.projectArtifacts(entry.projectId), entry.digest);
  }

  #marker(entry: { projectId: string; digest: string }): string {
    return join(this.#options.folders.projectVerified(entry.projectId), `${entry.digest}.json`);
  }
}

/** What arrived is not what the manifest says; asking again does not help. */
class DamagedFile extends Error {
  constructor(file: ManifestFile, found: string) {
    super(
      `the artifact’s file ${JSON.stringify(file.path)} is not what was published: it has ${found}, ` +
        `and its manifest says ${file.size} bytes with SHA-256 ${file.sha256}; publish the version again`,
    );
  }
}

function patient<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const again = (error: unknown) => !(error instanceof DamagedFile) && mayPass(error);
  return retrying(attempt, { limit: attemptsPerFile, signal, again });
}

/** The server checks paths at upload; here a bad one would leave the folder, so it is checked again. */
function checkPath(path: string): void {
  const segments = path.split('/');
  const bad = segments.some((segment) => segment === '' || segment === '.' || segment === '..');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  if (bad || /[\\\u0000-\u001f\u007f]/.test(path)) {
    throw new Error(`the artifact’s path ${JSON.stringify(path)} does not stay inside the artifact`);
  }
  const long = segments.find((segment) => Buffer.byteLength(segment) > segmentLimitBytes);
  if (long) {
    throw new Error(
      `the artifact’s path ${JSON.stringify(path)} has a name of over ${segmentLimitBytes} bytes`,
    );
  }
}

async function seal(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await seal(join(folder, entry.name));
  }
  await chmod(folder, 0o555);
}
