/**
 * The files that a task works on. It is made at the first use, and at the first use after a merge or a discard, over
 * the head of its branch, or over the newest version of its environment if the project has no repository.
 *
 * Terminology
 *   base     the files of a commit or a version
 *   edit     a file that the task wrote or deleted; edits lie over the base until they are merged
 *   folder   the working directory of the task: its tools see and write only files in it
 */

import { isUtf8 } from 'node:buffer';
import { createCommit, getRepositoryFile } from '@headgate/contract';
import { trimEnd } from '@headgate/pipelines';
import { findAssetNameFault, normalizeName } from '../../delivery/artifacts/index.ts';
import type { Read, Transaction } from '../../kernel/database/database.ts';
import { type BaseFile, type BaseFiles, createCommitFiles, createVersionFiles } from './base-files.ts';
import type { CopyServices } from './copy-services.ts';
import { beginCopy } from './new-copy.ts';
import { actForAll, requireRights } from './tool/actors.ts';
import type { ToolContext } from './tool/tool.ts';
import { ToolFault } from './tool/tool-fault.ts';
import {
  type CopyKey,
  type CopyRow,
  type Edit,
  findCopy,
  isCopyHeld,
  listEdits,
  lockCopy,
  storeEdit,
} from './working-copy.store.ts';

export interface CopyFile {
  path: string;
  size: number;
}

export interface WorkingCopy {
  row: CopyRow;
  base: BaseFiles;
  baseFiles: readonly BaseFile[];
  /** By path; null: deleted. Later edits have won. */
  edits: ReadonlyMap<string, string | null>;
  /** The call that wrote the newest edit of the path. */
  editCalls: ReadonlyMap<string, string | null>;
  /** The paths that are not committed. */
  uncommitted: ReadonlySet<string>;
  /** All files with the edits, sorted by path. */
  files: readonly CopyFile[];
  /** @returns undefined if there is no such file */
  read(path: string): Promise<Buffer | undefined>;
  /** All files with their contents. */
  readAll(files?: readonly CopyFile[]): AsyncIterable<{ path: string; bytes: Buffer }>;
}

const editLimit = 500;
const editBytesLimit = 4 * 1_048_576;

const keyOf = ({ task }: ToolContext): CopyKey => ({ accountId: task.accountId, taskId: task.taskId });

/**
 * Begins a new copy if the last one was merged or discarded: then a person has resumed the task.
 * Throws what a request to read a file throws for each of the actors.
 */
export async function openCopy(services: CopyServices, context: ToolContext): Promise<WorkingCopy> {
  await requireRights(actForAll(services, getRepositoryFile, context));
  const row = await findCopy(services.database.read, keyOf(context));
  return readCopy(services, row?.state === 'OPEN' ? row : await beginCopy(services, context, row));
}

/** Without a check of rights. */
export async function readCopy(services: CopyServices, row: CopyRow): Promise<WorkingCopy> {
  const key = { accountId: row.account_id, taskId: row.task_id };
  const base = await openBase(services, row);
  const baseFiles = await base.list();
  const stored = await listEdits(services.database.read, key);
  const edits = new Map(stored.map(({ path, content }) => [path, content]));
  const sizes = new Map(baseFiles.map(({ path, size }) => [path, size]));
  for (const [path, content] of edits) {
    if (content === null) sizes.delete(path);
    else sizes.set(path, Buffer.byteLength(content));
  }
  const files = [...sizes].map(([path, size]) => ({ path, size })).sort(comparePaths);
  const bases = new Map(baseFiles.map((file) => [file.path, file]));

  async function* readAll(expected: readonly CopyFile[] = files) {
    const inBase = expected.flatMap(({ path }) => (edits.has(path) ? [] : (bases.get(path) ?? [])));
    const contents = base.read(inBase)[Symbol.asyncIterator]();
    for (const { path } of expected) {
      const edited = edits.get(path);
      if (edited === null || (edited === undefined && !bases.has(path))) continue;
      if (edited !== undefined) yield { path, bytes: Buffer.from(edited) };
      else yield { path, bytes: (await contents.next()).value as Buffer };
    }
  }

  return {
    row,
    base,
    baseFiles,
    edits,
    editCalls: new Map(stored.map(({ path, call_id: callId }) => [path, callId])),
    uncommitted: new Set(listUncommitted(stored, bases)),
    files,
    readAll,
    async read(path) {
      for await (const { bytes } of readAll([{ path, size: 0 }])) return bytes;
      return undefined;
    },
  };
}

/** A file that was written and deleted since the last commit is no change. */
function listUncommitted(stored: readonly Edit[], bases: ReadonlyMap<string, BaseFile>): string[] {
  const committed = new Set(bases.keys());
  for (const { stage, path, content } of stored) {
    if (stage !== 'PROPOSED') continue;
    if (content === null) committed.delete(path);
    else committed.add(path);
  }
  return stored.flatMap(({ stage, path, content }) =>
    stage === 'WORKING' && (content !== null || committed.has(path)) ? [path] : [],
  );
}

async function openBase(services: CopyServices, row: CopyRow): Promise<BaseFiles> {
  const { account_id: accountId, project_id: projectId } = row;
  if (row.source_branch === null)
    return createVersionFiles(
      { read: services.database.read, blobs: services.blobs },
      accountId,
      row.manifest_digest,
    );
  const { content } = await services.repositories.withRepository(
    { accountId, projectId },
    async (opened) => opened,
  );
  return createCommitFiles(content, row.commit_id ?? row.start_commit);
}

const comparePaths = (one: CopyFile, other: CopyFile) => (one.path < other.path ? -1 : 1);

/** Whether the tools of the task see the file. */
export function isInFolder({ task }: ToolContext, path: string): boolean {
  const folder = trimFolder(task.workingDirectory);
  return folder === '' || path.startsWith(`${folder}/`);
}

export function trimFolder(folder = ''): string {
  return trimEnd(folder.replace(/^(?:\.?\/)+/, ''), '/').replace(/^\.$/, '');
}

/** @throws ToolFault for a path that no version may have, and for one outside of the folder. */
export function requirePath(context: ToolContext, path: string): void {
  const refuse = (reason: string) => new ToolFault(`${JSON.stringify(path)} cannot be used: ${reason}`);
  const fault = findAssetNameFault(path);
  if (fault !== undefined) throw refuse(fault);
  if (path.split('/').some((part) => /^(?:\.git|git~\d+)[. ]*$/i.test(part.replaceAll(/\p{Cf}/gu, ''))))
    throw refuse('a folder or file of the name .git belongs to Git itself.');
  if (!isInFolder(context, path))
    throw refuse(
      `it is outside of the working directory ${JSON.stringify(trimFolder(context.task.workingDirectory))}.`,
    );
}

/** A text that a version can hold. */
export function decodeText(bytes: Buffer): string | undefined {
  return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString('utf8') : undefined;
}

/** The path of the file as the copy has it: names that differ only in their Unicode form are the same file. */
export function findPath({ files }: WorkingCopy, path: string): string | undefined {
  const name = normalizeName(path);
  return files.find((file) => normalizeName(file.path) === name)?.path;
}

/** @param content null deletes the file */
export async function writeEdit(
  services: CopyServices,
  context: ToolContext,
  copy: WorkingCopy,
  { path, content }: { path: string; content: string | null },
): Promise<void> {
  const others = [...copy.edits].filter(([edited]) => edited !== path);
  const bytes = others.reduce(
    (sum, [, text]) => sum + Buffer.byteLength(text ?? ''),
    Buffer.byteLength(content ?? ''),
  );
  if (others.length >= editLimit) throw new ToolFault(`a task may edit at most ${editLimit} files`);
  if (bytes > editBytesLimit)
    throw new ToolFault(`the edits of a task may have at most ${editBytesLimit} bytes`);
  await changeCopy(services, context, copy, async (tx) =>
    storeEdit(tx, keyOf(context), { path, content, callId: context.callId }),
  );
}

/** A transaction on the copy that was read, if it is still open, with the rights to write files. */
export function changeCopy<Result>(
  services: CopyServices,
  context: ToolContext,
  { row: read }: Pick<WorkingCopy, 'row'>,
  change: (tx: Transaction, row: CopyRow) => Promise<Result>,
): Promise<Result> {
  return actForAll(services, createCommit, context).write(async (tx) => {
    const row = await lockCopy(tx, keyOf(context));
    if (row === undefined) throw new ToolFault('the task was deleted');
    await requireOpen(tx.query, row, context.now);
    // Each copy has its own key. A call that was given up may still be under way after a merge.
    if (row.mark_key !== read.mark_key)
      throw new ToolFault(
        'the changes of this task were merged or discarded meanwhile: look at the files again',
      );
    return change(tx, row);
  });
}

/** @throws ToolFault */
export async function requireOpen(read: Read, row: CopyRow, now: Date): Promise<void> {
  const { state } = row;
  if (state !== 'OPEN')
    throw new ToolFault(
      `the changes of this task were ${state.toLowerCase()} meanwhile: look at the files again`,
    );
  if (await isCopyHeld(read, row, now))
    throw new ToolFault('a person is merging or discarding the changes of this task: wait for the end');
}
