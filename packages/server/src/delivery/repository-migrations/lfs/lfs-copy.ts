/** Copies the LFS objects of a source to a target, and verifies each by SHA-256 and size. */
import { join } from 'node:path';
import type { GitRepository } from '../../git/index.ts';
import { listObjects, listReachable, type Place } from '../git/git-calls.ts';
import { MigrationFailed, toMigrationFailed } from '../git/migration-failure.ts';
import {
  askBatch,
  downloadObject,
  type LfsAnswer,
  type LfsHost,
  removeFile,
  uploadObject,
} from './lfs-client.ts';
import { type LfsPointer, largestPointer, parsePointer, smallestPointer } from './lfs-pointer.ts';

export interface FoundPointer extends LfsPointer {
  /** The Git object of the pointer. */
  blobId: string;
}

/** Objects that one process of git is asked for. */
const readBatch = 10_000;

/** Ids without the overhead of strings: a repository may have millions. */
async function listSmallBlobs(place: Place): Promise<Buffer[]> {
  const batches: Buffer[] = [];
  let batch: Buffer[] = [];
  for await (const [id, type, size] of listObjects(place)) {
    if (type !== 'blob' || size < smallestPointer || size >= largestPointer) continue;
    batch.push(Buffer.from(id, 'hex'));
    if (batch.length < readBatch) continue;
    batches.push(Buffer.concat(batch));
    batch = [];
  }
  return [...batches, ...(batch.length > 0 ? [Buffer.concat(batch)] : [])];
}

const idBytes = 20;

/**
 * Finds the pointers among all objects of a repository: several may name one LFS object. @throws MigrationFailed
 * `too-large`
 */
export async function findPointers(
  place: Place,
  repository: GitRepository,
  mostObjects: number,
): Promise<FoundPointer[]> {
  const found: FoundPointer[] = [];
  for (const batch of await listSmallBlobs(place)) {
    const hex = batch.toString('hex');
    const ids = Array.from({ length: batch.length / idBytes }, (_, at) =>
      hex.slice(2 * idBytes * at, 2 * idBytes * (at + 1)),
    );
    let at = 0;
    for await (const content of repository.readBlobs(ids, largestPointer)) {
      const pointer = parsePointer(content);
      const blobId = ids[at];
      at += 1;
      if (pointer === undefined || blobId === undefined || pointer.size === 0) continue;
      if (found.length === mostObjects)
        throw new MigrationFailed(
          'too-large',
          `The source has more than ${mostObjects} files in Git LFS. Remove those that are not needed from its history, then start again.`,
        );
      found.push({ ...pointer, blobId });
    }
  }
  return found;
}

/**
 * What a pointer says of the size of its object is not checked, and the object passes through this server's disk.
 *
 * @throws MigrationFailed `too-large`, naming a file
 */
export async function requireSmall(
  place: Place,
  pointers: readonly FoundPointer[],
  mostBytes: number,
): Promise<void> {
  const large = pointers.find(({ size }) => size > mostBytes);
  if (large === undefined) return;
  const path = (await findPaths(place, [large])).get(large.blobId) ?? 'a file';
  throw new MigrationFailed(
    'too-large',
    `${path} is in Git LFS with ${large.size} bytes (sha256 ${large.oid}); an object may have ${mostBytes} at most. Remove it from the history of the source, then start again.`,
  );
}

/** @throws MigrationFailed `too-large` */
export function requireFewBytes(pointers: readonly FoundPointer[], mostBytes: number): void {
  const bytes = pointers.reduce((sum, { size }) => sum + size, 0);
  if (bytes <= mostBytes) return;
  throw new MigrationFailed(
    'too-large',
    `The source has LFS objects with ${bytes} bytes in all; at most ${mostBytes} are migrated. Remove those that are not needed from its history, then start again.`,
  );
}

/** Leaves the pointers that branches and tags reach, one for each LFS object. */
export async function keepReachable(
  place: Place,
  pointers: readonly FoundPointer[],
): Promise<FoundPointer[]> {
  const byBlob = new Map(pointers.map((pointer) => [pointer.blobId, pointer]));
  const reached = new Map<string, FoundPointer>();
  for await (const [id] of listReachable(place)) {
    const pointer = byBlob.get(id);
    if (pointer !== undefined && !reached.has(pointer.oid)) reached.set(pointer.oid, pointer);
  }
  return [...reached.values()];
}

export interface LfsCopy {
  source: LfsHost;
  target: LfsHost;
  place: Place;
  /** For the objects on their way. */
  folder: string;
  /** By `performance.now()`. Hosts that answer just in time for each object would hold a migration for weeks. */
  endsAt: number;
  onBytes: (bytes: number) => void;
  /** Called after each batch. */
  onProgress: (done: number, total: number) => void;
}

const batchSize = 100;
const atOnce = 4;

interface LostObject {
  pointer: FoundPointer;
  reason: string;
}

/**
 * Copies what the target does not have.
 *
 * @returns the bytes that were copied
 * @throws MigrationFailed `lfs-objects-missing`, naming them; `host-timeout`
 */
export async function copyLfsObjects(copy: LfsCopy, pointers: readonly FoundPointer[]): Promise<number> {
  const lost: LostObject[] = [];
  let bytes = 0;
  for (let at = 0; at < pointers.length; at += batchSize) {
    const batch = pointers.slice(at, at + batchSize);
    bytes += await copyBatch(copy, batch, lost);
    copy.onProgress(Math.min(at + batchSize, pointers.length), pointers.length);
  }
  if (lost.length === 0) await verifyObjects(copy.target, pointers, lost);
  if (lost.length > 0) throw await describeLost(copy.place, lost, pointers.length);
  return bytes;
}

async function copyBatch(copy: LfsCopy, batch: readonly FoundPointer[], lost: LostObject[]): Promise<number> {
  const { source, target } = copy;
  const uploads = await askBatch(target, 'upload', batch);
  const missing: LfsAnswer[] = [];
  for (const answer of uploads) {
    if (answer.error !== undefined) throw refuseUpload(target, answer);
    if (answer.actions.upload !== undefined) missing.push(answer);
  }
  if (missing.length === 0) return 0;
  const byOid = new Map(batch.map((pointer) => [pointer.oid, pointer]));
  const downloads = await askBatch(source, 'download', missing);
  let bytes = 0;
  await runTogether(downloads, async (download, index) => {
    const upload = missing[index];
    const pointer = byOid.get(download.oid);
    if (upload === undefined || pointer === undefined) return;
    requireTime(copy);
    const reason = await copyObject(copy, download, { ...upload, size: pointer.size }, pointer.size);
    if (reason === undefined) bytes += pointer.size;
    else lost.push({ pointer, reason });
  });
  return bytes;
}

function requireTime({ endsAt }: LfsCopy): void {
  if (performance.now() < endsAt) return;
  throw new MigrationFailed(
    'host-timeout',
    'The files in Git LFS were not copied in time: the source or the target is too slow. Those that were copied stay at the target. Start again to copy the others.',
  );
}

function refuseUpload(target: LfsHost, { oid, error }: LfsAnswer): MigrationFailed {
  const answered = { status: error?.code ?? 0, text: error?.message ?? '' };
  const isFull = target.provider.explainFailure(answered).code === 'quota-exceeded';
  return new MigrationFailed(
    isFull ? 'quota-exceeded' : 'lfs-refused',
    `Git LFS of the target refuses the object ${oid}: ${error?.code} ${error?.message}. Allow LFS uploads for this credential, or raise the storage limit of LFS.`,
  );
}

async function copyObject(
  { source, target, folder, onBytes }: LfsCopy,
  download: LfsAnswer,
  upload: LfsAnswer,
  size: number,
): Promise<string | undefined> {
  const file = join(folder, `lfs-${download.oid}`);
  try {
    const fault = await downloadObject(source, { ...download, size }, file, onBytes).catch(
      (failure: unknown) => {
        throw toMigrationFailed(source, failure);
      },
    );
    if (fault !== undefined) return `the source cannot give it: ${fault}`;
    const refused = await uploadObject(target, upload, file, onBytes).catch((failure: unknown) => {
      throw toMigrationFailed(target, failure);
    });
    return refused === undefined ? undefined : `the target does not take it: ${refused}`;
  } finally {
    await removeFile(file);
  }
}

/** Asks the target for each object, as a clone would. */
async function verifyObjects(
  target: LfsHost,
  pointers: readonly FoundPointer[],
  lost: LostObject[],
): Promise<void> {
  for (let at = 0; at < pointers.length; at += batchSize) {
    const batch = pointers.slice(at, at + batchSize);
    const answers = await askBatch(target, 'download', batch);
    answers.forEach((answer, index) => {
      const pointer = batch[index];
      if (pointer === undefined) return;
      if (answer.error !== undefined || answer.actions.download === undefined)
        lost.push({ pointer, reason: 'the target does not have it after the upload' });
      else if (answer.size !== pointer.size)
        lost.push({ pointer, reason: `the target has ${answer.size} bytes in place of ${pointer.size}` });
    });
  }
}

const named = 10;

async function describeLost(
  place: Place,
  lost: readonly LostObject[],
  total: number,
): Promise<MigrationFailed> {
  const shown = lost.slice(0, named);
  const paths = await findPaths(
    place,
    shown.map(({ pointer }) => pointer),
  );
  const names = shown.map(
    ({ pointer, reason }) => `${paths.get(pointer.blobId) ?? 'a file'} (sha256 ${pointer.oid}, ${reason})`,
  );
  const more = lost.length > named ? ` and ${lost.length - named} more` : '';
  return new MigrationFailed(
    'lfs-objects-missing',
    `${lost.length} of ${total} LFS objects could not be moved: ${names.join('; ')}${more}. Push them to the source with "git lfs push --all", then start again.`,
  );
}

/** By the id of the blob. */
async function findPaths(place: Place, pointers: readonly FoundPointer[]): Promise<Map<string, string>> {
  const pointerIds = new Set(pointers.map(({ blobId }) => blobId));
  const paths = new Map<string, string>();
  for await (const [id, path] of listReachable(place)) if (pointerIds.has(id)) paths.set(id, path);
  return paths;
}

/** Runs the work of all items, a few at a time. The first failure ends it. */
async function runTogether<Item>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const queue = items.entries();
  let failed: { reason: unknown } | undefined;
  async function takeTurns(): Promise<void> {
    for (const [index, item] of queue) {
      if (failed !== undefined) return;
      await work(item, index).catch((reason: unknown) => {
        failed ??= { reason };
      });
    }
  }
  await Promise.all(Array.from({ length: atOnce }, takeTurns));
  if (failed !== undefined) throw failed.reason;
}
