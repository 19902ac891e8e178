/** The files of a request, and those of a commit, for a review. */
import { Buffer } from 'node:buffer';
import { fileBytesLimit } from '@headgate/pipelines';
import type { GitRepository } from '../git/index.ts';
import type { ReviewSource } from '../quality-rules/index.ts';

/** Of files with the same path the last one counts. */
export function createFilesSource(files: readonly { path: string; content: string }[]): ReviewSource {
  const contents = new Map(files.map(({ path, content }) => [path.replace(/^\//, ''), Buffer.from(content)]));
  return {
    files: [...contents].map(([path, { length: size }]) => ({ path, size })),
    async *read(chosen) {
      for (const { path } of chosen) yield contents.get(path) ?? Buffer.alloc(0);
    },
  };
}

/** Bytes of one file; a larger one is no pipeline, and ends the reading with a problem. */
const mostBytes = 16 * fileBytesLimit;

/** Links and submodules are left out. */
export async function createTreeSource(repository: GitRepository, commit: string): Promise<ReviewSource> {
  const entries = await repository.listTree(commit, { recursive: true });
  const files = entries
    .filter(({ kind, isText }) => isText && (kind === 'file' || kind === 'executable'))
    .map(({ path, size = 0, objectId }) => ({ path, size, objectId }));
  const idOf = new Map(files.map(({ path, objectId }) => [path, objectId]));
  return {
    files,
    read: (chosen) =>
      repository.readBlobs(
        chosen.map(({ path }) => idOf.get(path) ?? ''),
        mostBytes,
      ),
  };
}
