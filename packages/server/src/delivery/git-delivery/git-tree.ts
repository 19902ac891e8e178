/** The files of a commit as those of a version, by the rules of an upload. */
import { Problem, problem } from '../../kernel/http/problems.ts';
import type { Collection, UploadLimits } from '../artifacts/index.ts';
import type { GitRepository, TreeEntry } from '../git/index.ts';

/** A pointer is shorter than this. */
const pointerBytes = 1_024;
const pointerStart = 'version https://git-lfs.github.com/spec/v1\n';

/**
 * Adds the files of the commit. Links, submodules and pointers of Git LFS are listed as ignored. Throws
 * `git-tree-refused`.
 */
export async function collectTree(
  repository: GitRepository,
  commitId: string,
  collection: Collection,
  limits: UploadLimits,
): Promise<void> {
  const refuse = (reason: string) => problem('git-tree-refused', { commit: commitId, reason });
  const entries = await repository.listTree(commitId, { recursive: true });
  const files = entries.filter(({ kind }) => kind === 'file' || kind === 'executable');
  const fault = findSizeFault(files, limits);
  if (fault !== undefined) throw refuse(fault);
  for (const { path, kind, isText } of entries) {
    if (!isText) throw refuse(`the path ${JSON.stringify(path)} is not valid UTF-8; rename it.`);
    if (kind === 'link')
      collection.leaveOut(path, 'It is a symbolic link; only files are part of a version.');
    if (kind === 'submodule')
      collection.leaveOut(path, 'It is a submodule; its files are in another repository.');
  }
  let index = 0;
  const ids = files.map((file) => file.objectId);
  try {
    for await (const bytes of repository.readBlobs(ids, limits.partBytes, 'long')) {
      const path = files[index]?.path ?? '';
      index += 1;
      if (isPointer(bytes)) {
        collection.leaveOut(path, 'It is a pointer of Git LFS; the file itself is not in the repository.');
        continue;
      }
      const wait = collection.add(path, bytes);
      if (wait !== undefined) await wait;
    }
  } catch (failure) {
    // A name that no upload may have. It is the commit's fault, not that of the request.
    if (failure instanceof Problem && failure.code === 'invalid-asset-name') throw refuse(failure.message);
    throw failure;
  }
}

function findSizeFault(files: readonly TreeEntry[], limits: UploadLimits): string | undefined {
  if (files.length > limits.parts)
    return `it has ${files.length} files, and a version has at most ${limits.parts} (HEADGATE_UPLOAD_PARTS).`;
  const large = files.find(({ size = 0 }) => size > limits.partBytes);
  if (large !== undefined)
    return `the file ${JSON.stringify(large.path)} has ${large.size} bytes, and a file has at most ${limits.partBytes} (HEADGATE_UPLOAD_PART_MB).`;
  const bytes = files.reduce((sum, { size = 0 }) => sum + size, 0);
  return bytes > limits.requestBytes
    ? `its files have ${bytes} bytes, and a version has at most ${limits.requestBytes} (HEADGATE_UPLOAD_MB).`
    : undefined;
}

function isPointer(bytes: Buffer): boolean {
  return bytes.length < pointerBytes && bytes.toString('latin1', 0, pointerStart.length) === pointerStart;
}
