/** Which files a task changed, how they were before, and the digest of it. */
import { createHash } from 'node:crypto';
import type { AiTaskFile } from '@headgate/contract';
import {
  type BaseFile,
  type BaseFiles,
  type CopyRow,
  type CopyServices,
  createCommitFiles,
  createVersionFiles,
  decodeText,
  readCopy,
} from '../ai-tools/index.ts';

export interface ChangedFile extends AiTaskFile {
  /** Undefined: there was, or is, no such file, or it is no text. */
  before: string | undefined;
  after: string | undefined;
  /** Of the bytes before and after. */
  bytesDigest: string;
}

/** Sorted by path. */
export async function listChanged(services: CopyServices, row: CopyRow): Promise<ChangedFile[]> {
  const copy = await readCopy(services, row);
  const first = await openStart(services, row);
  const firstFiles = new Map((await first.list()).map((file) => [file.path, file]));
  const committed = copy.baseFiles
    .filter(({ path, digest }) => firstFiles.get(path)?.digest !== digest)
    .map(({ path }) => path);
  const present = new Set(copy.baseFiles.map(({ path }) => path));
  const removed = [...firstFiles.keys()].filter((path) => !present.has(path));
  const paths = [...new Set([...committed, ...removed, ...copy.edits.keys()])].sort();
  const bases = new Map(copy.baseFiles.map((file) => [file.path, file]));
  const isOnSource = row.commit_id !== null && row.branch === row.source_branch;
  const changed: ChangedFile[] = [];
  for (const path of paths) {
    const after = await copy.read(path);
    let before = await readOne(first, firstFiles.get(path));
    // What was committed to the source branch itself, and is taken back now, is a change of that branch.
    if (isSame(before, after) && isOnSource && copy.uncommitted.has(path))
      before = await readOne(copy.base, bases.get(path));
    if (isSame(before, after)) continue;
    changed.push({
      path,
      change: before === undefined ? 'added' : after === undefined ? 'deleted' : 'modified',
      isCommitted: !copy.uncommitted.has(path),
      before: before === undefined ? undefined : decodeText(before),
      after: after === undefined ? undefined : decodeText(after),
      bytesDigest: digestOf([before, after]),
    });
  }
  return changed;
}

/** Of everything that a merge would bring. What others do on the target meanwhile is a matter of conflicts. */
export function digestChanges(row: CopyRow, changed: readonly ChangedFile[]): string {
  const { task_id, state, source_branch, branch, environment_name, manifest_digest, message } = row;
  const of = [task_id, state, source_branch, branch, environment_name, manifest_digest, message];
  const commits = [row.start_commit, row.commit_id];
  const files = changed.map(({ path, change, isCommitted, bytesDigest }) => [
    path,
    change,
    isCommitted,
    bytesDigest,
  ]);
  return digestOf([Buffer.from(JSON.stringify([of, commits, files]))]);
}

/** Of a task that has not looked at files. */
export const digestNone = (taskId: string): string => digestOf([Buffer.from(taskId)]);

function digestOf(parts: readonly (Buffer | undefined)[]): string {
  const hash = createHash('sha256');
  // With its length, so that no two lists have the same text.
  for (const part of parts) hash.update(`${part?.length ?? '-'}:`).update(part ?? '');
  return hash.digest('hex');
}

async function openStart(services: CopyServices, row: CopyRow) {
  const { account_id: accountId, project_id: projectId } = row;
  if (row.source_branch === null)
    return createVersionFiles(
      { read: services.database.read, blobs: services.blobs },
      accountId,
      row.manifest_digest,
    );
  const place = { accountId, projectId };
  const content = await services.repositories.withRepository(place, async (opened) => opened.content);
  return createCommitFiles(content, row.start_commit);
}

async function readOne(files: BaseFiles, file: BaseFile | undefined): Promise<Buffer | undefined> {
  if (file !== undefined) for await (const bytes of files.read([file])) return bytes;
  return undefined;
}

function isSame(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other);
}
