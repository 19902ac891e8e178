/**
 * The cache of published versions on the agent's disk. Each version is verified once and then sealed, so that
 * SQL can read but not change it.
 *
 * A version is trusted only if its manifest is in the `verified` folder, where SQL cannot write. A project's
 * folder is writable for a moment while a version is moved into it, and files that a statement creates there
 * in that moment must not be taken for a version.
 */
import { createHash, randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ArtifactManifest } from '@headgate/contract';
import { canonicalManifest } from '@headgate/contract/without-schemas';
import { type Folders, makePrivateFolder, removeTree } from '../host/folders.ts';
import { getReason, type Log } from '../log.ts';
import type { ControlPlane } from '../session/control-plane.ts';
import { checkPath, fetchFiles, retryFetch } from './artifact-files.ts';

/** Limit on cached files. Small files cost a file system more than their bytes. */
const fileLimit = 200_000;
/** A use is recorded on disk once in this time. */
const markMilliseconds = 10_000;

export interface HeldArtifact {
  /** Absolute path of the folder with its files. */
  folder: string;
  /** Paths of the files, relative to the folder, and the SHA-256 of each. */
  index: { paths: readonly string[]; digests: readonly string[] };
  /** Releases the artifact. Until then it is not evicted. */
  release(): void;
}

interface Size {
  bytes: number;
  files: number;
}

interface Entry {
  projectId: string;
  digest: string;
  manifest: ArtifactManifest;
  index: HeldArtifact['index'];
  size: Size;
  lastUsed: number;
  /** The last use that is recorded on disk. */
  markedAt: number;
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
  /** Sizes of versions being fetched. Space is freed for them in advance. */
  readonly #expected = new Set<Size>();
  /** Changes to project folders run one at a time, because each unseals and seals a folder. */
  #turn: Promise<unknown> = Promise.resolve();
  #evicting: Promise<void> = Promise.resolve();

  private constructor(options: ArtifactCacheOptions) {
    this.#options = options;
  }

  /** Loads the versions left by an earlier process and removes unfinished ones. */
  static async open(options: ArtifactCacheOptions): Promise<ArtifactCache> {
    const cache = new ArtifactCache(options);
    const { folders } = options;
    await removeTree(folders.incoming);
    for (const folder of [folders.artifacts, folders.verified, folders.incoming])
      await makePrivateFolder(folder);
    for (const projectId of await readdir(folders.verified)) {
      for (const name of await readdir(folders.projectVerified(projectId))) {
        await cache.#takeOver(projectId, name.replace(/\.json$/, ''));
      }
    }
    await cache.#evict();
    return cache;
  }

  /**
   * Returns the version with this digest, after fetching and verifying it if necessary.
   *
   * @throws Error with a message for the user: a file with a wrong hash, an invalid path, or a version too
   *   large.
   */
  async acquire(projectId: string, digest: string, signal: AbortSignal): Promise<HeldArtifact> {
    const key = `${projectId}/${digest}`;
    let entry = this.#entries.get(key);
    if (!entry) {
      let fetching = this.#fetching.get(key);
      if (!fetching) {
        const fetched = this.#fetch(projectId, digest, signal).finally(() => this.#fetching.delete(key));
        // Released after all waiting callers hold it.
        fetched.then(
          (done) => setImmediate(() => this.#release(done)),
          () => undefined,
        );
        fetching = { entry: fetched, signal };
        this.#fetching.set(key, fetching);
      }
      try {
        entry = await fetching.entry;
      } catch (error) {
        signal.throwIfAborted();
        // The run that started this fetch was killed, and the fetch was aborted with it.
        if (fetching.signal.aborted) return this.acquire(projectId, digest, signal);
        throw error;
      }
    }
    return this.#hold(entry);
  }

  #hold(entry: Entry): HeldArtifact {
    entry.users += 1;
    entry.lastUsed = Date.now();
    this.#markUsed(entry);
    let held = true;
    return {
      folder: join(this.#getFolder(entry), 'files'),
      index: entry.index,
      release: () => {
        if (held) this.#release(entry);
        held = false;
      },
    };
  }

  /** So that another process of the agent knows what was used last. */
  #markUsed(entry: Entry): void {
    if (entry.lastUsed - entry.markedAt < markMilliseconds) return;
    entry.markedAt = entry.lastUsed;
    const used = new Date(entry.lastUsed);
    void utimes(this.#getMarkerPath(entry), used, used).catch(() => undefined);
  }

  async #fetch(projectId: string, digest: string, signal: AbortSignal): Promise<Entry> {
    const { source, folders, limitBytes, log } = this.#options;
    if (!/^[0-9a-f]{64}$/.test(digest))
      throw new Error(`the artifact’s digest ${JSON.stringify(digest)} is not a SHA-256`);
    const manifest = await retryFetch(() => source.artifact(digest, signal), signal);
    const found = createHash('sha256').update(canonicalManifest(manifest.files)).digest('hex');
    if (found !== digest) {
      throw new Error(`the server sent another artifact (${found}) than the requested one (${digest})`);
    }
    const size = measureSize(manifest);
    if (size.bytes > limitBytes) {
      throw new Error(
        `the artifact’s files have ${size.bytes} bytes, but the agent’s cache only ${limitBytes}: raise HEADGATE_AGENT_ARTIFACT_CACHE_MB`,
      );
    }
    for (const file of manifest.files) checkPath(file.path);
    const incoming = join(folders.incoming, randomUUID());
    this.#expected.add(size);
    try {
      await this.#evict();
      await fetchFiles(source, join(incoming, 'files'), manifest.files, signal);
      // Counted as in use by its fetch, so that it is not evicted before waiting callers hold it.
      const index = createIndex(manifest);
      const used = { lastUsed: Date.now(), markedAt: Date.now(), users: 1 };
      const entry: Entry = { projectId, digest, manifest, index, size, ...used };
      await this.#install(entry, incoming);
      log.info('artifact fetched', { projectId, digest, ...size });
      return entry;
    } finally {
      this.#expected.delete(size);
      await removeTree(incoming);
    }
  }

  /**
   * Only the project's folder becomes writable where SQL can see it. The files are sealed before the move.
   */
  async #install(entry: Entry, incoming: string): Promise<void> {
    const { folders } = this.#options;
    const project = folders.projectArtifacts(entry.projectId);
    const place = this.#getFolder(entry);
    await this.#changeFolder(project, async () => {
      await removeTree(place);
      await rename(incoming, place);
      await chmod(place, 0o555);
    });
    await makePrivateFolder(folders.projectVerified(entry.projectId));
    const marker = this.#getMarkerPath(entry);
    await writeFile(`${marker}.new`, JSON.stringify(entry.manifest), { mode: 0o600 });
    await rename(`${marker}.new`, marker);
    this.#entries.set(`${entry.projectId}/${entry.digest}`, entry);
  }

  async #takeOver(projectId: string, digest: string): Promise<void> {
    const entry = { projectId, digest };
    const marker = this.#getMarkerPath(entry);
    try {
      const manifest = JSON.parse(await readFile(marker, 'utf8')) as ArtifactManifest;
      if (manifest.digest !== digest) throw new Error('the manifest belongs to another version');
      await stat(join(this.#getFolder(entry), 'files'));
      const lastUsed = (await stat(marker)).mtimeMs;
      const size = measureSize(manifest);
      const index = createIndex(manifest);
      this.#entries.set(`${projectId}/${digest}`, {
        ...entry,
        manifest,
        index,
        size,
        lastUsed,
        markedAt: lastUsed,
        users: 0,
      });
    } catch (error) {
      this.#options.log.warn('cached artifact discarded', {
        projectId,
        digest,
        reason: getReason(error),
      });
      await rm(marker, { force: true });
    }
  }

  /** Removes one user, and evicts versions that exceeded the limit because they were in use. */
  #release(entry: Entry): void {
    entry.users -= 1;
    if (entry.users > 0) return;
    this.#evict().catch((error) => {
      this.#options.log.warn('eviction from the artifact cache failed', { reason: getReason(error) });
    });
  }

  /** Evicts the least recently used versions until the cache is within its limits. Versions in use stay. */
  #evict(): Promise<void> {
    const mine = this.#evicting.then(async () => {
      for (let entry = this.#findEvictable(); entry !== undefined; entry = this.#findEvictable()) {
        this.#entries.delete(`${entry.projectId}/${entry.digest}`);
        await this.#remove(entry);
      }
    });
    this.#evicting = mine.catch(() => undefined);
    return mine;
  }

  #findEvictable(): Entry | undefined {
    const entries = [...this.#entries.values()];
    const sizes = [...entries.map((entry) => entry.size), ...this.#expected];
    const total = (of: keyof Size) => sizes.reduce((sum, size) => sum + size[of], 0);
    if (total('bytes') <= this.#options.limitBytes && total('files') <= fileLimit) return undefined;
    const unused = entries.filter((entry) => entry.users === 0);
    return unused.toSorted((one, other) => one.lastUsed - other.lastUsed)[0];
  }

  async #remove(entry: Entry): Promise<void> {
    const project = this.#options.folders.projectArtifacts(entry.projectId);
    await rm(this.#getMarkerPath(entry), { force: true });
    await this.#changeFolder(project, () => removeTree(this.#getFolder(entry)));
  }

  async #changeFolder(project: string, change: () => Promise<void>): Promise<void> {
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

  #getFolder(entry: { projectId: string; digest: string }): string {
    return join(this.#options.folders.projectArtifacts(entry.projectId), entry.digest);
  }

  #getMarkerPath(entry: { projectId: string; digest: string }): string {
    return join(this.#options.folders.projectVerified(entry.projectId), `${entry.digest}.json`);
  }
}

function createIndex({ files }: ArtifactManifest): HeldArtifact['index'] {
  return { paths: files.map(({ path }) => path), digests: files.map(({ sha256 }) => sha256) };
}

function measureSize({ files }: ArtifactManifest): Size {
  return { bytes: files.reduce((sum, file) => sum + file.size, 0), files: files.length };
}
