/** The files of a commit by the API. Their paths are judged as those of uploads. */
import type { FileOfCommit } from '@headgate/contract';
import { type Problem, problem } from '../../kernel/http/problems.ts';
import { findAssetNameFault, normalizeName } from '../artifacts/index.ts';
import type { FileWrite, GitRepository } from '../git/index.ts';

export interface PreparedFiles {
  writes: FileWrite[];
  /** @throws `invalid-repository-file` for a file to delete that is not there, and a file in place of a folder */
  checkAgainst(content: GitRepository, head: string | null): Promise<void>;
}

/** @throws `invalid-repository-file` */
export function prepareFiles(files: readonly FileOfCommit[]): PreparedFiles {
  const seen = new Set<string>();
  const writes = files.map((file): FileWrite => {
    const { path } = file;
    const fault = findAssetNameFault(path) ?? findGitPathFault(path);
    if (fault !== undefined) throw refuse(path, fault);
    const name = normalizeName(path);
    if (seen.has(name)) throw refuse(path, 'the path appears twice.');
    seen.add(name);
    const content = decodeContent(file);
    return { path, content, ...(file.executable === undefined ? {} : { executable: file.executable }) };
  });
  refuseFilesAsFolders(writes);
  // Deletions first: a file may stand where a folder was.
  writes.sort((one, other) => Number(one.content !== undefined) - Number(other.content !== undefined));

  return {
    writes,
    async checkAgainst(content, head) {
      const tree = head === null ? [] : await content.listTree(head, { recursive: true });
      const kinds = new Map(tree.map(({ path, kind }) => [path, kind]));
      const deleted = new Set(writes.filter((write) => write.content === undefined).map(({ path }) => path));
      for (const { path } of writes) {
        const kind = kinds.get(path);
        if (deleted.has(path) && kind === undefined) throw refuse(path, 'there is no such file to delete.');
        if (kind === 'link' || kind === 'submodule')
          throw refuse(path, `it is a ${kind}, which only a push can change.`);
      }
      refuseFolders(writes, [...kinds.keys()], deleted);
    },
  };
}

/** A new file must not stand where a folder is, nor below a file, unless that is deleted in the same commit. */
function refuseFolders(
  writes: readonly FileWrite[],
  existing: readonly string[],
  deleted: ReadonlySet<string>,
): void {
  const staying = existing.filter((path) => !deleted.has(path));
  const files = new Set(staying);
  const folders = new Set(staying.flatMap(listFolders));
  for (const { path, content } of writes) {
    if (content === undefined) continue;
    if (folders.has(path)) throw refuse(path, 'it is a folder.');
    const above = listFolders(path).find((folder) => files.has(folder));
    if (above !== undefined) throw refuse(path, `${JSON.stringify(above)} is a file.`);
  }
}

function refuseFilesAsFolders(writes: readonly FileWrite[]): void {
  const written = writes.filter(({ content }) => content !== undefined);
  const files = new Set(written.map(({ path }) => path));
  for (const { path } of written) {
    const above = listFolders(path).find((folder) => files.has(folder));
    if (above !== undefined) throw refuse(path, `${JSON.stringify(above)} is a file.`);
  }
}

function listFolders(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

/**
 * Git refuses names that a file system takes for .git: HFS+ ignores format characters, NTFS what follows a
 * colon, and dots and spaces at the end.
 */
function findGitPathFault(path: string): string | undefined {
  const isOfGit = path
    .split('/')
    .some((part) => /^(\.git|git~\d+)[. ]*(:|$)/i.test(part.replaceAll(/\p{Cf}/gu, '')));
  return isOfGit ? 'a folder or file of the name .git belongs to Git itself.' : undefined;
}

function decodeContent({ path, content, encoding, delete: isDeleted }: FileOfCommit): Uint8Array | undefined {
  if (isDeleted === true) {
    if (content !== undefined) throw refuse(path, 'it has both `content` and `delete`; send one of them.');
    return undefined;
  }
  if (content === undefined) throw refuse(path, 'it has neither `content` nor `delete: true`.');
  if (encoding !== 'base64') return Buffer.from(content, 'utf8');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(content) || content.length % 4 !== 0)
    throw refuse(path, '`content` is not base64.');
  return Buffer.from(content, 'base64');
}

function refuse(path: string, reason: string): Problem {
  return problem('invalid-repository-file', { path, reason });
}
