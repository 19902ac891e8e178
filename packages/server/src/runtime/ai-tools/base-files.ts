/** The files over which the edits of a task lie: those of a commit, or of a version. */
import { buffer } from 'node:stream/consumers';
import { readManifestFiles } from '../../delivery/artifacts/index.ts';
import type { Blobs } from '../../delivery/blobs/index.ts';
import type { GitRepository } from '../../delivery/git/index.ts';
import type { Read } from '../../kernel/database/database.ts';

export interface BaseFile {
  path: string;
  size: number;
  /** Differs if the content does. */
  digest: string;
}

export interface BaseFiles {
  /** Sorted by path; only files, no links and submodules. */
  list(): Promise<readonly BaseFile[]>;
  /** In the order of the files. */
  read(files: readonly BaseFile[]): AsyncIterable<Buffer>;
}

/** Of one file; a larger one ends the reading with a problem. */
const mostBytes = 16 * 1_048_576;

/** @param commitId null: an empty repository */
export function createCommitFiles(content: GitRepository, commitId: string | null): BaseFiles {
  return {
    async list() {
      if (commitId === null) return [];
      const entries = await content.listTree(commitId, { recursive: true });
      return entries
        .filter(({ kind, isText }) => isText && (kind === 'file' || kind === 'executable'))
        .map(({ path, size = 0, objectId }) => ({ path, size, digest: objectId }));
    },
    read: (files) =>
      content.readBlobs(
        files.map(({ digest }) => digest),
        mostBytes,
      ),
  };
}

/** @param manifestDigest null: there is no version */
export function createVersionFiles(
  { read, blobs }: { read: Read; blobs: Blobs },
  accountId: string,
  manifestDigest: string | null,
): BaseFiles {
  return {
    async list() {
      if (manifestDigest === null) return [];
      const files = await readManifestFiles(read, accountId, manifestDigest);
      if (files === undefined) throw new Error(`The manifest ${manifestDigest} is missing.`);
      return files.map(({ path, size, sha256 }) => ({ path, size, digest: sha256 }));
    },
    async *read(files) {
      for (const { path, digest } of files) {
        const blob = await blobs.read(accountId, digest);
        if (blob === undefined) throw new Error(`The stored file ${path} (${digest}) is missing.`);
        yield await buffer(blob.stream);
      }
    },
  };
}
